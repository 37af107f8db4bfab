"""Content of a plan wherever it is written down: as commands show it, and as its digest is taken."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

#: The kinds of plans; ``change/plan/kinds.py`` says what holds for each.
Kind = Literal["restore", "rollback", "undo", "repartition", "reset", "seed", "fence", "sources", "repair", "salvage"]

KindText = Annotated[Kind, "type of change, such as `rollback`"]


class PlannedFields(TypedDict):
    """Content of a plan, besides the effects on sinks."""

    kind: KindText
    location: Annotated[str, "URI of the checkpoint that the plan changes"]
    query_id: Annotated[str, "id of the query, or empty"]
    batch_id: Annotated[int, "latest committed batch after the change"]
    planned_at_ms: Annotated[int, "epoch milliseconds"]
    requirements: Annotated[
        list[dict[str, Any]], "what must still be true when the plan is applied; `kind` names the requirement"
    ]
    actions: Annotated[list[dict[str, Any]], "steps in order; `do` says what a step does"]
    warnings: Annotated[list[str], "warnings for the person who approves the plan"]
    source: Annotated[str, "URI of the backup from which files are copied, or empty"]
    sink: Annotated[str, "URI of the sink whose log is trimmed, or empty"]
    undoes: Annotated[str, "id of the plan that an undo takes back, or empty"]
    notes: Annotated[list[str], "how the target batch was found"]
