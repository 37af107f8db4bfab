"""Documents of lineage and assets. The run facet `ckpt_task` of OpenLineage; the extra of events of assets."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict


class FacetFindingFields(TypedDict):
    """A finding in the run facet."""

    code: Annotated[str, "stable code of the rule, `CKPT` and three digits"]
    severity: Annotated[str, "`error`, `warning` or `note`"]
    message: Annotated[str, "the finding in one sentence"]
    batch_id: Annotated[int | None, "batch that the finding is about"]
    name: Annotated[str | None, "file that the finding is about"]


class FacetSinkFields(TypedDict):
    """Effect of a planned change on one sink."""

    sink: Annotated[str, "type and location of the sink"]
    effect: Annotated[str, "`exact`, `duplicated`, `skipped`, `unknown` or `stops`"]


class FacetPlanFields(TypedDict):
    """A planned change in the run facet."""

    plan_id: Annotated[str, "digest of the content of the plan"]
    kind: Annotated[str, "type of change, such as `rollback`"]
    batch_id: Annotated[int, "latest committed batch after the change"]
    actions: Annotated[int, "number of steps"]
    sink_effect: Annotated[str, "worst effect on a sink"]
    sink_effects: Annotated[list[FacetSinkFields], "sink effect of each sink"]


class FacetReceiptFields(TypedDict):
    """Result of a plan, in the run facet."""

    status: Annotated[str, "`applied`, or `already_applied` when nothing was left to do"]
    actions: Annotated[int, "number of steps that this run has done"]
    record: Annotated[str, "URI of the record with the removed files, or empty"]


class FacetSourceFields(TypedDict):
    """How far a query is behind one source, in the run facet."""

    location: Annotated[str, "URI of the checkpoint"]
    source_id: Annotated[str, "id of the source"]
    unit: Annotated[str | None, "what is counted: `offsets`, `versions`, `snapshots` or `files`"]
    unread: Annotated[int | None, "how much is unread in all; null when it cannot be counted"]
    lost: Annotated[int, "unread offsets that the broker does not have any more"]


class TaskFacetFields(TypedDict):
    """The run facet `ckpt_task`. A key that a task has nothing to say of is absent."""

    task: Annotated[str, "what the task does, such as `gate` or `rollback`"]
    checkpoints: Annotated[list[str], "URIs of the checkpoints, at most twenty"]
    query_id: NotRequired[Annotated[str, "id of the query"]]
    batch_id: NotRequired[Annotated[int, "committed batch: the latest, that of a backup, or that after a change"]]
    watermark: NotRequired[Annotated[str, "watermark with which that batch ran, ISO 8601"]]
    status: NotRequired[Annotated[str, "result of a comparison, such as `continued`"]]
    met: NotRequired[Annotated[list[str], "names of the conditions that a wait has met"]]
    decision: NotRequired[Annotated[str, "`pass`, `warn` or `block`"]]
    headline: NotRequired[Annotated[str, "the forecast in one line"]]
    resumes_at_batch: NotRequired[Annotated[int, "first batch that a restart runs"]]
    spark_error: NotRequired[Annotated[str, "error with which a restart stops"]]
    positions: NotRequired[Annotated[dict[str, str], "start offset of the next batch, JSON text by source id"]]
    unknown: NotRequired[Annotated[list[str], "what was not judged"]]
    findings: NotRequired[Annotated[list[FacetFindingFields], "findings, worst first, at most twenty"]]
    sources: NotRequired[Annotated[list[FacetSourceFields], "how far queries are behind, at most twenty sources"]]
    plan: NotRequired[Annotated[FacetPlanFields, "the change that was planned"]]
    receipt: NotRequired[Annotated[FacetReceiptFields, "what was done of the plan"]]
    backup_id: NotRequired[Annotated[str, "the backup that was taken, restored or verified"]]
    omitted: NotRequired[Annotated[list[str], "keys of which something was left out, because there was too much"]]


class AssetExtraFields(TypedDict):
    """The extra of an event of an asset, and what the trigger of a watcher adds to its payload."""

    text: Annotated[str, "what has happened, in a sentence for people"]
    location: Annotated[str, "URI of the checkpoint"]
    link: Annotated[str, "relative link to the page of the checkpoint in Airflow"]
    batch_id: Annotated[int | None, "committed batch"]
    watermark: Annotated[str | None, "watermark with which that batch ran, ISO 8601"]
    backup_id: NotRequired[Annotated[str, "the backup that was taken, restored or verified"]]
