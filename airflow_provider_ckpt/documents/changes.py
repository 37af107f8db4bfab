"""Changes: ``restore``, ``rollback``, ``repartition``, ``undo`` and ``history``."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from airflow_provider_ckpt.documents import Document, ErrorFields


class SinkEffectFields(TypedDict):
    """What a change does to one sink."""

    sink: Annotated[str, "type and location of the sink"]
    effect: Annotated[Literal["exact", "duplicated", "skipped", "unknown"], "what happens to its rows"]
    reason: Annotated[str, "why"]
    remedy: Annotated[str, "what to do about it; empty when nothing"]


class PlanShownFields(TypedDict):
    """A plan, as commands show it."""

    plan_id: Annotated[str, "digest of the content"]
    kind: Annotated[Literal["restore", "rollback", "undo", "repartition"], "what it is for"]
    location: Annotated[str, "URI of the checkpoint that it changes"]
    query_id: Annotated[str, "id of the query, or empty"]
    batch_id: Annotated[int, "committed batch that the checkpoint is at afterwards"]
    planned_at_ms: Annotated[int, "epoch milliseconds"]
    requirements: Annotated[list[dict[str, Any]], "what must still hold; the class in `kind`"]
    actions: Annotated[list[dict[str, Any]], "steps in order; the class in `do`"]
    warnings: Annotated[list[str], "what a person should know"]
    sink_effects: Annotated[list[SinkEffectFields], "what it does to each sink"]
    source: Annotated[str, "URI that copies come from, or empty"]
    sink: Annotated[str, "URI of the sink whose log is trimmed, or empty"]
    undoes: Annotated[str, "id of the plan that an undo takes back, or empty"]
    notes: Annotated[list[str], "how the batch was found"]
    trigger: Annotated[str, "trigger of the query, such as `realTime`; empty when nobody has said"]


class ReceiptFields(TypedDict):
    """What was done of a plan."""

    plan_id: Annotated[str, "the plan"]
    kind: Annotated[str, "what it was for"]
    status: Annotated[str, "`applied`, or `already_applied` when nothing was left to do"]
    location: Annotated[str, "URI of the checkpoint"]
    batch_id: Annotated[int, "committed batch that it is at now"]
    actions: Annotated[int, "steps that were carried out now"]
    record: Annotated[str, "URI of the record with what was saved, or empty"]
    started_at_ms: Annotated[int, "epoch milliseconds"]
    finished_at_ms: Annotated[int, "epoch milliseconds"]


class ChangeDocument(Document):
    """A change that is planned or was made."""

    sink_effect: Annotated[str, "worst effect on a sink"]
    accept_sink: Annotated[list[str], "effects that have to be accepted by name"]
    plan: Annotated[PlanShownFields, "what it does"]
    receipt: Annotated[ReceiptFields | None, "what was done; null when nothing was"]


class RecordFields(TypedDict):
    """A change that was made, or begun."""

    plan_id: Annotated[str, "its plan"]
    kind: Annotated[str, "what it was for"]
    from_batch: Annotated[int | None, "latest committed batch before it"]
    to_batch: Annotated[int, "committed batch that it led to"]
    state: Annotated[Literal["planned", "refused", "interrupted", "applied", "undone"], "how far it came"]
    by: Annotated[str, "who began it"]
    approved_by: Annotated[str, "who approved it; empty when nobody was asked"]
    accepted_sink: Annotated[list[str], "effects on a sink that were accepted"]
    planned_at_ms: Annotated[int, "epoch milliseconds"]
    begun_at_ms: Annotated[int | None, "epoch milliseconds"]
    done_at_ms: Annotated[int | None, "epoch milliseconds"]
    undoes: Annotated[str, "id of the plan that it took back, or empty"]
    forgotten: Annotated[bool, "whether what was saved for an undo is given up"]
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
    change: Annotated[RecordFields, "how far it came"]
    plan: Annotated[PlanShownFields, "what it was to do"]


class ForgetDocument(Document):
    """What a change has saved, given up (`--forget`)."""

    location: Annotated[str, "URI of the checkpoint"]
    plan_id: Annotated[str, "the change"]
    objects_deleted: Annotated[int | None, "null when nothing was done"]
