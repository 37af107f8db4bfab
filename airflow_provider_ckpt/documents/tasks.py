"""Documents that Airflow's operators return and push to XCom."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from airflow_provider_ckpt.documents import Document
from airflow_provider_ckpt.documents.as_document import DocumentOf
from airflow_provider_ckpt.documents.backups import (
    BackupFields,
    RehearsalFields,
)
from airflow_provider_ckpt.documents.changes import ReceiptFields, SinkEffectFields
from airflow_provider_ckpt.documents.findings import (
    FindingFields,
    ForecastWithFindingsFields,
    ToldFindingsFields,
)
from airflow_provider_ckpt.documents.positions import LagSummaryFields
from airflow_provider_ckpt.documents.runs import StartReceiptFields, StatusFields, StopReceiptFields


class OfQueryFileFields(TypedDict):
    """What the result of a task says of the query file, where the task is about a query of one."""

    query: NotRequired[Annotated[str, "name of the query in the query file"]]
    declared: NotRequired[Annotated[dict[str, str], "where the file declares what the task was not given, by argument"]]


class TaskDocument(OfQueryFileFields, Document):
    """Every result of a task."""


class ToldBackupFields(BackupFields):
    """A backup; of the files in it that ckpt does not know, at most twenty."""

    unknown_left_out: Annotated[int, "number of files that are not in `unknown`; the manifest has them"]
    unknown_changed_left_out: Annotated[int, "number of files that are not in `unknown_changed`"]


class BackupResultDocument(ToldBackupFields, TaskDocument):
    """Result of `CheckpointBackupOperator`."""

    status: Annotated[
        Literal["applied", "already_applied"], "`already_applied` when the task had taken this backup before"
    ]


class ToldPruneFields(TypedDict):
    """Plan of a prune: at most twenty decisions, the newest, and twenty sweeps, the largest.

    The log of the task has all of them, and `ckpt backups ROOT` lists what is there.
    """

    backups: Annotated[int, "number of backups that were judged"]
    backups_dropped: Annotated[int, "number of backups that no rule keeps"]
    directories_swept: Annotated[int, "number of directories that lose objects"]
    objects_swept: Annotated[int, "number of objects in all sweeps"]
    bytes_swept: Annotated[int, "their size"]
    backups_verified: Annotated[int, "number of backups that were verified"]


class ToldPruneReceiptFields(TypedDict):
    """Result of a prune; at most twenty ids, the newest."""

    backups_dropped: Annotated[int, "number of backups that were deleted"]


class PruneResultDocument(TaskDocument):
    """Result of `CheckpointPruneOperator`."""

    plan: Annotated[ToldPruneFields, "what it does"]
    receipt: Annotated[ToldPruneReceiptFields | None, "what was done; null with `plan_only`"]


class CheckResultDocument(ToldFindingsFields, TaskDocument):
    """Result of `CheckpointCheckOperator`."""

    location: Annotated[str, "URI of the checkpoint"]
    unknown: Annotated[list[str], "what was not judged"]


class GateResultDocument(ForecastWithFindingsFields, TaskDocument):
    """Result of `CheckpointGateOperator`; under the key `bookmark` it pushes a bookmark."""

    headline: Annotated[str, "the result in one line, for people"]
    findings_left_out: Annotated[int, "number of findings that are not in `findings`, which has at most twenty"]


class GatedFlowFields(ToldFindingsFields):
    """The gate of one query of several, such as a flow of a pipeline."""

    location: Annotated[str, "URI of the checkpoint"]
    decision: Annotated[str, "`pass`, `warn` or `block`"]
    headline: Annotated[str, "the result in one line, for people"]


class GatesResultDocument(ToldFindingsFields, Document):
    """Result of `CheckpointGateOperator` for a pipeline or for several queries; its findings are of the pipeline."""

    decision: Annotated[str, "the worst decision"]
    unknown: Annotated[list[str], "what was not judged of the pipeline"]
    queries: Annotated[dict[str, GatedFlowFields], "the gate of each query, by name; at most a hundred"]
    others: Annotated[int, "number of queries that are not among them"]


class QueryLagFields(TypedDict):
    """How far one query is behind."""

    location: Annotated[str, "URI of the checkpoint"]
    is_within: Annotated[bool, "whether it is behind by no more than it may be"]
    sources: Annotated[list[LagSummaryFields], "how far it is behind each source"]


class LagResultDocument(TaskDocument):
    """Result of `CheckpointLagSensor`."""

    checkpoints: Annotated[list[QueryLagFields], "queries, those first that are too far behind; at most a hundred"]
    others: Annotated[int, "number of queries that are not among them"]


class QueryLossFields(TypedDict):
    """Data that one query has lost, stops at, or may lose soon."""

    location: Annotated[str, "URI of the checkpoint"]
    is_within: Annotated[bool, "whether it has lost records, or may lose some within the time that was asked for"]
    findings: Annotated[list[FindingFields], "what a restart loses, or stops at, now; at most twenty"]
    expires_ms: Annotated[
        int | None, "until a source may delete the first that the query needs, milliseconds; null when nothing expires"
    ]
    unknown: Annotated[list[str], "what was not judged of tables, such as `source options`"]
    error: Annotated[str | None, "why it could not be asked; the other fields are then empty"]


class LossResultDocument(TaskDocument):
    """Result of `CheckpointDataLossSensor`."""

    checkpoints: Annotated[list[QueryLossFields], "queries, those first that lose records; at most a hundred"]
    others: Annotated[int, "number of queries that are not among them"]
    expires_ms: Annotated[
        int | None, "until a source of any query may delete the first that it needs; null when nothing expires"
    ]


class ContinuityResultDocument(ToldFindingsFields, TaskDocument):
    """Result of `CheckpointContinuityOperator`."""

    status: Annotated[str, "`continued`, `doubtful`, `pending`, or `begun` on the first run of a schedule"]
    batch_id: Annotated[int | None, "latest committed batch in the bookmark"]
    latest_committed_batch: Annotated[int | None, "latest committed batch now"]


class FlowContinuityFields(ToldFindingsFields):
    """The continuation of one query of several, such as a flow of a pipeline."""

    location: Annotated[str, "URI of the checkpoint"]
    status: Annotated[
        str, "`continued`, `doubtful`, `broken`, `in flight`, or `idle` when nothing new is committed and nothing begun"
    ]
    batch_id: Annotated[int | None, "latest committed batch in the bookmark"]
    latest_committed_batch: Annotated[int | None, "latest committed batch now"]


class ContinuitiesResultDocument(Document):
    """Result of `CheckpointContinuityOperator` for the bookmark of a pipeline or of several queries."""

    status: Annotated[str, "the worst status"]
    queries: Annotated[dict[str, FlowContinuityFields], "the continuation of each query, by name"]


class SinkResultFields(TypedDict):
    """Effect of a change on one sink, for a browser: with no invisible characters."""

    sink: Annotated[str, "type and location of the sink"]
    effect: Annotated[str, "`exact`, `duplicated`, `skipped`, `unknown` or `stops`"]
    cost: Annotated[str | None, "what somebody accepts with the effect; null for `exact`"]
    remedy: Annotated[str, "what makes the effect exact; may be empty"]
    option: Annotated[str | None, "argument of the change that is the remedy, such as `trim_sink_log`; null for none"]


class ChangeResultDocument(TaskDocument):
    """Result of `CheckpointRestoreOperator`, `CheckpointRollbackOperator` and `CheckpointUndoOperator`."""

    plan_id: Annotated[str, "the plan"]
    kind: Annotated[str, "type of change, such as `rollback`"]
    batch_id: Annotated[int, "latest committed batch after the change"]
    actions: Annotated[int, "number of steps"]
    sink_effect: Annotated[str, "worst effect on a sink"]
    accept_sink: Annotated[list[str], "effects that have to be accepted by name"]
    notes: Annotated[list[str], "how the target batch was found"]
    warnings: Annotated[list[str], "warnings for the person who approves the plan"]
    sink_effects: Annotated[list[SinkResultFields], "sink effect of each sink"]
    receipt: Annotated[ReceiptFields | None, "what was done; null with `plan_only`"]


class VerifyResultDocument(ToldFindingsFields, TaskDocument):
    """Result of `CheckpointVerifyOperator`."""

    backup_id: Annotated[str, "the backup"]
    query_id: Annotated[str, "id of the query"]
    batch_id: Annotated[int, "committed batch of the backup; a restart from it runs the next batch"]
    warnings: Annotated[list[str], "warnings about the backup itself, such as a date in the future"]
    rehearsal: Annotated[RehearsalFields | None, "what Spark read; null without a rehearsal"]


class PublishedFields(TypedDict):
    """A position that was published to a consumer group."""

    location: Annotated[str, "URI of the checkpoint"]
    batch_id: Annotated[int, "latest committed batch, whose position it is"]
    group: Annotated[str, "name of the consumer group"]
    lag: Annotated[int, "offsets from there to the ends of the partitions, in total; records are at most as many"]


class PublishResultDocument(TaskDocument):
    """Result of `CheckpointPublishOffsetsOperator`."""

    published: Annotated[list[PublishedFields], "checkpoints, in the order of the task"]
    publish_again_before_ms: Annotated[
        int | None,
        "when the broker forgets these offsets (`offsets.retention.minutes`), epoch milliseconds; null when it does "
        "not say",
    ]


class WindowsResultDocument(TaskDocument):
    """Result of `CheckpointWindowsOperator`."""

    windows: Annotated[list[str], "newest partition keys that were added to the asset, at most ten"]
    count: Annotated[int, "number of partition keys that were added"]
    windows_until_ms: Annotated[int | None, "end of the newest window, epoch milliseconds"]
    batch_id: Annotated[int | None, "latest committed batch"]
    watermark_ms: Annotated[int | None, "watermark of that batch, epoch milliseconds"]


StagedRangeDocument = Annotated[dict[str, Any], DocumentOf("blue_green.stage_range", "StagedRange")]
DifferenceFields = Annotated[dict[str, Any], DocumentOf("blue_green.rows", "Difference")]
ComparisonFields = Annotated[dict[str, Any], DocumentOf("blue_green.rows", "Comparison")]


class ComparisonResultDocument(TaskDocument):
    """Result of `CheckpointCompareOperator`."""

    is_equal: Annotated[bool, "whether rows, columns and watermark are equal"]
    sentence: Annotated[str, "the result in one line, for people"]
    live_watermark_ms: Annotated[int, "watermark after the range, epoch milliseconds; 0 when there is none"]
    shadow_watermark_ms: Annotated[int, "the same of the new version"]


class SwitchResultDocument(TaskDocument):
    """Result of `CheckpointSwitchOperator`."""

    batch_id: Annotated[int | None, "latest committed batch"]
    in_flight: Annotated[int | None, "batch that is planned and not committed, or null"]
    sink_effects: Annotated[list[SinkEffectFields], "what a switch does at each sink"]
    way_back: Annotated[list[str], "the ways to go back, each with its command"]


class StopResultDocument(TaskDocument):
    """Result of `QueryStopOperator`; the XCom `receipt` is there also when the task fails for what it says."""

    name: Annotated[str, "the query, or the group of queries of one application"]
    batch_id: Annotated[int | None, "newest committed batch of the query of the task, or null"]
    steps: Annotated[list[str], "what would be done, with `plan_only`"]
    receipt: Annotated[StopReceiptFields | None, "the proof that it is stopped; null with `plan_only`"]


class StartResultDocument(TaskDocument):
    """Result of `QueryStartOperator`; the XCom `receipt` is there also when the task fails for what it says."""

    name: Annotated[str, "the query, or the group of queries of one application"]
    batch_id: Annotated[int | None, "newest committed batch of the query of the task, or null"]
    steps: Annotated[list[str], "what would be done, with `plan_only`"]
    receipt: Annotated[StartReceiptFields | None, "what became of the start; null with `plan_only`"]


class StatusResultDocument(TaskDocument):
    """Result of `QueryStatusSensor`."""

    status: Annotated[StatusFields, "what is known of the query"]


class IndexResultDocument(TaskDocument):
    """Result of `CheckpointIndexOperator`."""

    index: Annotated[str, "directory of the index, as it was given"]
    rows: Annotated[int, "number of checkpoints, and of directories that could not be read"]
    errors: Annotated[int, "how many of them have an error, or could not be read"]
    written: Annotated[bool, "false when a newer index was there, and nothing was written"]
    left_out: Annotated[int, "how many are not in the index, because their location is too long for a page"]


class ToldQueryFields(TypedDict):
    """A query that something is the matter with."""

    name: Annotated[str, "name of the query in the file"]
    location: Annotated[str, "checkpoint of the query"]
    reasons: Annotated[list[str], "what is the matter, a sentence each; at most five"]


class QueriesResultDocument(Document):
    """Result of `CheckpointQueriesOperator`."""

    file: Annotated[str, "the query file"]
    queries: Annotated[int, "number of queries that were read, or could not be"]
    failing: Annotated[list[ToldQueryFields], "queries that something is the matter with, worst first; at most twenty"]
    failing_left_out: Annotated[int, "number of such queries that are not among them; the log of the task has them"]
