"""Changes: ``restore``, ``rollback``, ``repartition``, ``undo`` and ``history``."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from airflow_provider_ckpt.documents import Document, ErrorFields


class SinkEffectFields(TypedDict):
    """What a change does to one sink."""

    sink: Annotated[str, "type and location of the sink"]
    effect: Annotated[
        Literal["exact", "duplicated", "skipped", "unknown"], "`exact`, `duplicated`, `skipped` or `unknown`"
    ]
    reason: Annotated[str, "why"]
    remedy: Annotated[str, "what makes the effect exact; may be empty"]


class PlanShownFields(TypedDict):
    """A plan, as commands show it."""

    plan_id: Annotated[str, "digest of the content of the plan"]
    kind: Annotated[Literal["restore", "rollback", "undo", "repartition"], "type of change, such as `rollback`"]
    location: Annotated[str, "URI of the checkpoint that the plan changes"]
    query_id: Annotated[str, "id of the query, or empty"]
    batch_id: Annotated[int, "latest committed batch after the change"]
    planned_at_ms: Annotated[int, "epoch milliseconds"]
    requirements: Annotated[
        list[dict[str, Any]], "what must still be true when the plan is applied; `kind` names the requirement"
    ]
    actions: Annotated[list[dict[str, Any]], "steps in order; `do` says what a step does"]
    warnings: Annotated[list[str], "warnings for the person who approves the plan"]
    sink_effects: Annotated[list[SinkEffectFields], "sink effect of each sink"]
    source: Annotated[str, "URI of the backup from which files are copied, or empty"]
    sink: Annotated[str, "URI of the sink whose log is trimmed, or empty"]
    undoes: Annotated[str, "id of the plan that an undo takes back, or empty"]
    notes: Annotated[list[str], "how the target batch was found"]
    trigger: Annotated[str, "trigger of the query, such as `realTime`; empty when it was not declared"]


class ReceiptFields(TypedDict):
    """What was done of a plan."""

    plan_id: Annotated[str, "the plan"]
    kind: Annotated[str, "type of change, such as `rollback`"]
    status: Annotated[str, "`applied`, or `already_applied` when nothing was left to do"]
    location: Annotated[str, "URI of the checkpoint"]
    batch_id: Annotated[int, "latest committed batch now"]
    actions: Annotated[int, "number of steps that this run has done"]
    record: Annotated[str, "URI of the record with the removed files, or empty"]
    started_at_ms: Annotated[int, "epoch milliseconds"]
    finished_at_ms: Annotated[int, "epoch milliseconds"]


class ChangeDocument(Document):
    """A change that is planned or was made."""

    sink_effect: Annotated[str, "worst effect on a sink"]
    accept_sink: Annotated[list[str], "effects that have to be accepted by name"]
    plan: Annotated[PlanShownFields, "what it does"]
    receipt: Annotated[
        ReceiptFields | None, "what was done; number of objects that were deleted; null without `--execute`"
    ]


class RecordFields(TypedDict):
    """A change that was made, or begun."""

    plan_id: Annotated[str, "its plan"]
    kind: Annotated[str, "type of change, such as `rollback`"]
    from_batch: Annotated[int | None, "latest committed batch before the change"]
    to_batch: Annotated[int, "latest committed batch after the change"]
    state: Annotated[Literal["planned", "refused", "interrupted", "applied", "undone"], "state of the change"]
    by: Annotated[str, "who began it"]
    approved_by: Annotated[str, "who approved it; empty when nobody was asked"]
    accepted_sink: Annotated[list[str], "sink effects that were accepted"]
    planned_at_ms: Annotated[int, "epoch milliseconds"]
    begun_at_ms: Annotated[int | None, "epoch milliseconds"]
    done_at_ms: Annotated[int | None, "epoch milliseconds"]
    undoes: Annotated[str, "id of the plan that this change has undone, or empty"]
    forgotten: Annotated[bool, "whether the files that were kept for an undo were deleted (`--forget`)"]
    record: Annotated[str, "URI of the record"]


class UnreadableRecordFields(ErrorFields):
    """A record that cannot be read."""

    plan_id: Annotated[str, "its directory"]


class HistoryDocument(Document):
    """What was done to a checkpoint."""

    location: Annotated[str, "URI of the checkpoint"]
    changes: Annotated[list[RecordFields], "oldest first"]
    unreadable: Annotated[list[UnreadableRecordFields], "records that cannot be read"]


class RecordDocument(Document):
    """One change (`--plan`)."""

    location: Annotated[str, "URI of the checkpoint"]
    change: Annotated[RecordFields, "state of the change"]
    plan: Annotated[PlanShownFields, "what the change was to do"]


class ForgetDocument(Document):
    """What a change has saved, given up (`--forget`)."""

    location: Annotated[str, "URI of the checkpoint"]
    plan_id: Annotated[str, "the change"]
    objects_deleted: Annotated[int | None, "number of objects that were deleted; null without `--execute`"]
