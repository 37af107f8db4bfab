"""Files that ckpt writes. What an earlier version wrote without a version is still read."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from airflow_provider_ckpt.documents import Document
from airflow_provider_ckpt.documents.as_document import DocumentOf
from airflow_provider_ckpt.documents.plans import PlannedFields


class StoredEffectFields(TypedDict):
    """Effect of a plan on one sink; the name of the key `verdict` belongs to the digest that names a plan."""

    sink: Annotated[str, "type and location of the sink"]
    verdict: Annotated[
        Literal["exact", "duplicated", "skipped", "unknown", "stops"],
        "`exact`, `duplicated`, `skipped`, `unknown` or `stops`",
    ]
    reason: Annotated[str, "why"]
    remedy: Annotated[str, "what makes the effect exact; may be empty"]


class PlanFields(PlannedFields):
    """A plan, whose digest is its id: also the whole of `plan.json` in a record, which has no version of its own."""

    verdicts: Annotated[list[StoredEffectFields], "sink effect of each sink"]
    trigger: NotRequired[Annotated[str, "trigger of the query, such as `realTime`; absent when it was not declared"]]
    asked: NotRequired[Annotated[str, "digest of what was asked for; of a reset, absent in earlier versions"]]
    declared: NotRequired[Annotated[str, "what the query file declared, JSON by key; absent when no file was read"]]


class PlanFileDocument(Document):
    """A plan file (`--plan-out`), and the XCom `plan` of a task with `plan_only`."""

    plan_id: Annotated[str, "digest of the plan"]
    sink_effect: Annotated[str, "worst effect on a sink"]
    accept_sink: Annotated[list[str], "effects that have to be accepted by name"]
    plan: Annotated[PlanFields, "the plan; its id is the digest of these bytes"]


BookmarkDocument = Annotated[dict[str, Any], DocumentOf("restart.bookmark", "Bookmark")]
AcceptedFields = Annotated[dict[str, Any], DocumentOf("checks.baseline", "Fingerprint")]


class BaselineDocument(Document):
    """A baseline (`--write-baseline`)."""

    accepted: Annotated[dict[str, list[AcceptedFields]], "accepted findings by location"]


class KnownDocument(Document):
    """Results of the last survey of a fleet (`Known.to_json`)."""

    findings: Annotated[BaselineDocument, "the findings, as a baseline"]
    unreadable: Annotated[list[str], "locations that could not be read"]


class BegunDocument(Document):
    """`begun.json` of a record."""

    by: Annotated[str, "person or task that began the change"]
    at_ms: Annotated[int, "when, epoch milliseconds"]
    from_batch: Annotated[int | None, "latest committed batch before the change"]
    number: Annotated[int, "number of the change in the order in which changes began, from 1"]
    approved_by: Annotated[str, "who approved it; empty when nobody was asked"]
    accepted_sink: Annotated[list[str], "sink effects that were accepted"]
    asked: Annotated[str, "what a task has asked for, a digest; empty for a person"]


class AttributeFields(TypedDict):
    """Attributes that a file on a disk has besides its content."""

    owner: Annotated[int, "number of the user"]
    group: Annotated[int, "number of the group"]
    mode: Annotated[int, "permission bits"]
    modified_ns: Annotated[int | None, "last modification, epoch nanoseconds"]
    extended: Annotated[dict[str, str], "extended attributes by name, access control lists among them, Base64"]


class SavedObjectFields(TypedDict):
    """An object that was saved before its removal."""

    size: Annotated[int, "bytes"]
    sha256: Annotated[str, "hexadecimal"]
    attributes: NotRequired[
        Annotated[AttributeFields, "of a copy of a file of a disk; absent where the file itself was kept"]
    ]


class SavedDocument(Document):
    """`saved.json` of a record: everything is saved, and the change can be completed or undone."""

    objects: Annotated[int, "number of objects that the plan removes"]
    files: Annotated[dict[str, SavedObjectFields], "the saved files, by name below `saved/`"]


class RefusedDocument(Document):
    """`refused.json` of a record: no step was done."""

    why: Annotated[str, "what was found"]
    at_ms: Annotated[int, "when, epoch milliseconds"]


class DoneDocument(Document):
    """`receipt.json` of a record: the change is complete."""

    plan_id: Annotated[str, "the plan"]
    by: Annotated[str, "who completed it"]
    at_ms: Annotated[int, "when, epoch milliseconds"]


class UndoneDocument(Document):
    """`undone.json` of a record: the change was taken back."""

    undone_by: Annotated[str, "id of the plan of the undo"]
    by: Annotated[str, "who completed it"]
    at_ms: Annotated[int, "when, epoch milliseconds"]


class ForgottenDocument(Document):
    """`forgotten.json` of a record: what was saved is given up."""

    plan_id: Annotated[str, "the plan"]


ManifestObjectFields = Annotated[dict[str, Any], DocumentOf("backup.manifest", "ManifestObject")]


class ManifestDocument(Document):
    """`manifest.json` of a backup, with its keys in the order of the alphabet."""

    backup_id: Annotated[str, "unique under its root"]
    location: Annotated[str, "URI of the checkpoint, without credentials"]
    query_id: Annotated[str, "id of the query"]
    batch_id: Annotated[int, "committed batch after which a restart goes on"]
    created_at_ms: Annotated[int, "epoch milliseconds"]
    watermark_ms: Annotated[int | None, "watermark of that batch, epoch milliseconds"]
    objects: Annotated[list[ManifestObjectFields], "objects of the backup, in the order of copying"]
    facts: Annotated[dict[str, Any], "tags, message, versions, and which objects ckpt does not know"]
    features: Annotated[list[str], "features that a reader must support"]


DataFileFields = Annotated[dict[str, Any], DocumentOf("history_table.manifest", "DataFile")]


class EpochDocument(Document):
    """The manifest of an epoch of the format `checkpoint_history`, `epochs/QUERY_ID/N`; merged, `….compact`."""

    query_id: Annotated[str, "id of the streaming query that wrote it"]
    epoch: Annotated[int, "epoch (batch) of that query; in a merged manifest the last one"]
    compact: Annotated[bool, "whether the manifest covers all epochs of the query up to this one"]
    created_at_ms: Annotated[int, "epoch milliseconds"]
    schema: Annotated[str, "Spark's `StructType` of the rows, as JSON text"]
    plan: NotRequired[
        Annotated[
            str | None,
            "SHA-256 of that batch's offset entry; null when unreadable, absent in older documents",
        ]
    ]
    files: Annotated[list[DataFileFields], "data files that this manifest adds to the table"]


class TopicIdsDocument(Document):
    """The file of `ckpt gate --topic-ids`: by which a topic that was created again is recognised."""

    topics: Annotated[
        dict[str, dict[str, str]], "by location of a checkpoint, the id of each topic by source id and name: `0/orders`"
    ]
