"""Changes: ``restore``, ``rollback``, ``repartition``, ``reset-offsets``, ``undo`` and ``history``."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from airflow_provider_ckpt.documents import Document, ErrorFields
from airflow_provider_ckpt.documents.as_document import DocumentOf
from airflow_provider_ckpt.documents.plans import PlannedFields

SinkEffectFields = Annotated[dict[str, Any], DocumentOf("sinks.effects", "SinkEffect")]


class PlanShownFields(PlannedFields):
    """A plan, as commands show it."""

    plan_id: Annotated[str, "digest of the content of the plan"]
    sink_effects: Annotated[list[SinkEffectFields], "sink effect of each sink"]
    trigger: Annotated[str, "trigger of the query, such as `realTime`; empty when it was not declared"]
    completes: Annotated[str, "which interrupted change this completes, in a sentence; empty for a new plan"]


ReceiptFields = Annotated[dict[str, Any], DocumentOf("change.record.receipt", "Receipt")]


class ChangeDocument(Document):
    """A change that is planned or was made."""

    sink_effect: Annotated[str, "worst effect on a sink"]
    accept_sink: Annotated[list[str], "effects that have to be accepted by name"]
    plan: Annotated[PlanShownFields, "what it does"]
    apply_command: Annotated[
        str | None,
        "command that applies the plan, without secrets; null when nothing is left to do, or after `--execute`",
    ]
    remedy_command: Annotated[
        str | None,
        "command that plans the same with the option that is the remedy of an effect on a sink; null where none is",
    ]
    receipt: Annotated[
        ReceiptFields | None, "what was done; number of objects that were deleted; null without `--execute`"
    ]


class SalvagedObjectFields(TypedDict):
    """A file that a salvage puts in its place."""

    name: Annotated[str, "file, relative to the checkpoint"]
    way: Annotated[
        Literal["temporary", "backup", "known"],
        "`temporary`: its temporary file; `backup`: the backup; `known`: written again from what other entries say",
    ]
    source: Annotated[str, "temporary file in the checkpoint, or object in the root of the backups; empty for `known`"]
    size: Annotated[int, "bytes"]
    sha256: Annotated[str, "digest of the content, hex"]


class NotWholeFields(TypedDict):
    """A file that exists and is not used."""

    name: Annotated[str, "file, relative to the checkpoint"]
    reason: Annotated[str, "what is wrong with it, in words that follow its name"]


class NotSavedFields(TypedDict):
    """A later batch that cannot be saved."""

    batch_id: Annotated[int, "batch"]
    reason: Annotated[str, "what it lacks"]


class GivenUpFields(TypedDict):
    """The batches that are lost: the sources are read again for them."""

    first_batch: Annotated[int, "first batch"]
    last_batch: Annotated[int, "last batch of which the checkpoint has any file"]


class SalvageFields(TypedDict):
    """Data that a salvage saves, how, and data that is lost."""

    batch_id: Annotated[int, "newest committed batch that is saved"]
    reruns_batch: Annotated[int | None, "batch that runs again with the offsets of its entry; null without one"]
    backup_id: Annotated[str | None, "backup from which files come; null without one"]
    objects: Annotated[list[SalvagedObjectFields], "files that are put in their places, by name"]
    not_whole: Annotated[list[NotWholeFields], "files of the checkpoint that are damaged, by name"]
    not_saved: Annotated[list[NotSavedFields], "later batches that were tried, newest first"]
    given_up: Annotated[GivenUpFields | None, "batches that are lost; null when no file is of a later batch"]
    not_judged: Annotated[list[str], "what nobody can judge from the files; sentences"]


class SalvageDocument(ChangeDocument):
    """A salvage that is planned or was made."""

    salvage: Annotated[
        SalvageFields | None, "the report; null with `--plan`, and for an interrupted salvage that is completed"
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
    location: Annotated[str, "URI of the checkpoint, as it was when the change was planned"]


class UnreadableRecordFields(ErrorFields):
    """A record that cannot be read."""

    plan_id: Annotated[str, "its directory"]


class HistoryDocument(Document):
    """Changes of a checkpoint, or of those below a root."""

    location: Annotated[str, "URI of the checkpoint, or of the root; of several with spaces between"]
    changes: Annotated[list[RecordFields], "oldest first"]
    checkpoints: Annotated[int | None, "checkpoints below the root; null for one checkpoint"]
    not_read: Annotated[list[str], "places below the root that could not be read, each with the reason"]
    unreadable: Annotated[list[UnreadableRecordFields], "records that cannot be read"]


class RecordDocument(Document):
    """One change (`--plan`)."""

    location: Annotated[str, "URI of the checkpoint"]
    change: Annotated[RecordFields, "state of the change"]
    plan: Annotated[PlanShownFields, "what the change was to do"]


class ForgetDocument(Document):
    """Copies saved by a change that were given up (`--forget`)."""

    location: Annotated[str, "URI of the checkpoint"]
    plan_id: Annotated[str, "the change"]
    objects_deleted: Annotated[int | None, "number of objects that were deleted; null without `--execute`"]
