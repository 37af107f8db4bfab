"""The position of a query: ``show``, ``log``, ``diff``, ``lag``, ``export`` and ``publish-offsets``."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from airflow_provider_ckpt.documents import Document, ErrorFields
from airflow_provider_ckpt.documents.as_document import DocumentOf


class SourcePositionFields(TypedDict):
    """The position of one source."""

    source_id: Annotated[str, "id of the source: its position (`0`, `1`, …) or its name"]
    committed_offset: Annotated[str | None, "its offset in the latest committed batch, as JSON text"]
    planned_offset: Annotated[str | None, "its offset in the latest planned batch, as JSON text"]


PartitionLagFields = Annotated[dict[str, Any], DocumentOf("sources.lag", "PartitionLag")]


class ComingFields(TypedDict):
    """Data that a query reads of a Kafka source when it is started now, in total."""

    offsets: Annotated[int, "how many offsets the next batch reads"]
    planned: Annotated[bool, "whether this batch is in the offset log already"]
    waits_ms: Annotated[int | None, "how long the batch is held back at most; null when it runs at once"]
    batches_at_least: Annotated[int | None, "batches until the present end; null when one run does not get there"]
    batches_at_most: Annotated[int | None, "the same, at most; equal to it when every batch was worked out"]
    stays_unread: Annotated[int, "offsets at most that this run then leaves unread"]


class _UnreadFields(TypedDict):
    """Data of one source that the query has not read."""

    source_id: Annotated[str, "id of the source"]
    source_type: Annotated[str | None, "type of the source, as declared; null when it was not"]
    unit: Annotated[str | None, "what is counted: `offsets`, `versions`, `snapshots` or `files`"]
    total: Annotated[int | None, "how much is unread in all; null when it cannot be counted"]
    is_partial: Annotated[bool, "whether more is unread than was counted, so that a total of 0 is not the end"]
    files: Annotated[int | None, "unread data files of a table or a directory"]
    bytes: Annotated[int | None, "bytes of these files"]
    rows: Annotated[int | None, "rows of these files, of an Iceberg table; null when it does not say"]
    age_ms: Annotated[int | None, "age of the oldest unread data; null when nothing is unread, or it is not known"]
    expires_ms: Annotated[int | None, "until the first unread record of a partition may be deleted; null as above"]


class LagSummaryFields(_UnreadFields):
    """How far a query is behind one source, with the partitions that are furthest behind."""

    lost: Annotated[int, "unread offsets that the broker does not have any more, of all partitions"]
    partition_count: Annotated[int, "number of partitions of a Kafka source"]
    partitions: Annotated[list[PartitionLagFields], "those that are furthest behind, at most ten; lost records first"]
    others: Annotated[int, "number of partitions that are not among them"]
    others_unread: Annotated[int, "what is unread in these, in total"]
    next_batch: Annotated[ComingFields | None, "what the next batch reads of a Kafka source"]
    notes: Annotated[list[str], "what the numbers leave out, or why there are none"]


class LightCheckFields(TypedDict):
    """Findings of the rules in the few files that a command has read; `ckpt check` has the findings themselves."""

    errors: Annotated[int, "number of errors"]
    warnings: Annotated[int, "number of warnings"]
    notes: Annotated[int, "number of notes"]
    codes: Annotated[list[str], "rule codes, those of the worst findings first"]
    unknown: Annotated[list[str], "what was not judged, because it was not read"]


class TypeReadFields(TypedDict):
    """The type of a source that a file of the checkpoint proves, and that nobody declared."""

    source_type: Annotated[str, "type of the source"]
    file: Annotated[str, "file that proves it, by its name in the checkpoint"]
    holds: Annotated[str, "what the file holds"]


class ShowDocument(Document):
    """The position of a query."""

    location: Annotated[str, "URI of the checkpoint"]
    query_id: Annotated[str | None, "id of the query; null when `metadata` is missing"]
    latest_planned_batch: Annotated[int | None, "latest batch of the offset log"]
    latest_committed_batch: Annotated[int | None, "latest batch of the commit log"]
    in_flight: Annotated[int | None, "batch that is planned and not committed"]
    closed: Annotated[bool, "whether a change that has not ended keeps Spark from starting"]
    unfinished_repartition: Annotated[int | None, "state partitions that this batch leads to, when it is a repartition"]
    watermark_ms: Annotated[
        int | None, "event-time watermark of the newest committed batch, epoch milliseconds; null when there is none"
    ]
    watermark: Annotated[str | None, "the same time as ISO 8601"]
    last_commit: Annotated[str | None, "when the latest committed batch was committed, by the clock of the storage"]
    batch_timestamp: Annotated[str | None, "when the latest planned batch began (`batchTimestampMs`), ISO 8601"]
    stateful: Annotated[bool, "whether the query is stateful"]
    unknown: Annotated[list[str], "files and directories that ckpt does not know"]
    inside: Annotated[list[str], "directories at the top that are checkpoints of other queries (CKPT149)"]
    offset_log_version: Annotated[int | None, "format version of the latest offset log entry"]
    commit_log_version: Annotated[int | None, "format version of the latest commit log entry"]
    sources: Annotated[list[SourcePositionFields], "the offsets of each source"]
    types_read: Annotated[
        dict[str, TypeReadFields], "by source id the types that nobody declared and that the checkpoint proves"
    ]
    lag: Annotated[list[LagSummaryFields] | None, "how far the query is behind each source; null without `--source`"]
    confs: Annotated[dict[str, str | None], "once-only confs that the offset log holds"]
    checked: Annotated[LightCheckFields, "what the rules found in what was read for this"]


class SourceShownFields(TypedDict):
    """A source of a query, as its checkpoint has it."""

    source_id: Annotated[str, "its position in the query, or its name"]
    source_type: Annotated[str | None, "type of the source where a file tells it; else null"]
    committed_offset: Annotated[str | None, "offset of the newest committed batch, JSON text; null when it has none"]
    planned_offset: Annotated[str | None, "offset of the newest planned batch, JSON text; null when it has none"]
    files: Annotated[int, "files that it keeps below `sources/`"]


class LeftoverFields(TypedDict):
    """A directory below ``sources/`` that belongs to no source."""

    name: Annotated[str, "the directory, such as `sources/2`"]
    files: Annotated[int, "files in it"]


class SourcesDocument(Document):
    """The sources of a query."""

    location: Annotated[str, "URI of the checkpoint"]
    offset_log_version: Annotated[
        int | None, "format version of the latest offset log entry; with 2 sources can have names"
    ]
    latest_planned_batch: Annotated[int | None, "latest batch of the offset log"]
    latest_committed_batch: Annotated[int | None, "latest batch of the commit log"]
    in_flight: Annotated[int | None, "batch that is planned and not committed"]
    sources: Annotated[list[SourceShownFields], "the sources of the latest planned batch"]
    leftovers: Annotated[list[LeftoverFields], "what a failed start or a dropped source has left"]


class SourceAdvanceFields(TypedDict):
    """Advance of one source."""

    source_id: Annotated[str, "id of the source"]
    source_type: Annotated[str | None, "type of the source, such as `kafka`; null when it is not known"]
    start_offset: Annotated[
        str | None, "where the batch began, as JSON text of the source; for Kafka the first offset that the batch read"
    ]
    end_offset: Annotated[
        str | None, "where the batch ended, as JSON text of the source; for Kafka the first offset that it did not read"
    ]
    unit: Annotated[str | None, "what is counted, such as `records`"]
    partitions: Annotated[dict[str, int], "how much was read from each source partition"]
    total: Annotated[int | None, "how much was read in total; null when it cannot be counted"]
    problem: Annotated[str | None, "why it cannot be counted"]


FileFields = Annotated[dict[str, Any], DocumentOf("batches.read_files", "FileRead")]


class BatchFields(TypedDict):
    """One batch of both logs."""

    batch_id: Annotated[int, "id of the batch"]
    planned: Annotated[bool, "whether the offset log has an entry of this batch"]
    committed: Annotated[bool, "whether the commit log has it"]
    batch_timestamp: Annotated[str | None, "when the batch began, ISO 8601"]
    watermark_ms: Annotated[int | None, "watermark with which the batch ran, epoch milliseconds"]
    watermark: Annotated[str | None, "the same time as ISO 8601"]
    next_watermark_ms: Annotated[int | None, "watermark of the next batch, epoch milliseconds"]
    sources: Annotated[list[SourceAdvanceFields], "what each source read"]
    files: Annotated[list[FileFields] | None, "files that the batch took (`--files`), else null"]


class LogDocument(Document):
    """Both logs."""

    location: Annotated[str, "URI of the checkpoint"]
    batches: Annotated[list[BatchFields], "batches, oldest first"]
    types_read: Annotated[
        dict[str, TypeReadFields], "by source id the types that nobody declared and that the checkpoint proves"
    ]
    checked: Annotated[LightCheckFields | None, "what the rules found in the newest entries; null when they had gone"]


class DiffDocument(Document):
    """Data read between two batches."""

    location: Annotated[str, "URI of the checkpoint"]
    from_batch: Annotated[int, "batch after which the range begins (exclusive)"]
    to_batch: Annotated[int, "last batch of the range (inclusive)"]
    sources: Annotated[list[SourceAdvanceFields], "what each source read"]
    files: Annotated[list[FileFields] | None, "files that were taken (`--files`), else null"]


class NextBatchFields(TypedDict):
    """Data that a query reads of a Kafka source when it is started now."""

    offsets: Annotated[int, "how many offsets the next batch reads"]
    planned: Annotated[bool, "whether this batch is in the offset log already"]
    is_open: Annotated[bool, "whether the batch reads on while it runs (real-time mode), and ends there or later"]
    waits_ms: Annotated[int | None, "how long the batch is held back at most; null when it runs at once"]
    ends: Annotated[dict[str, int], "where it ends in each partition (exclusive), by `topic-partition`"]
    batches_at_least: Annotated[int | None, "batches until the present end; null when one run does not get there"]
    batches_at_most: Annotated[int | None, "the same, at most; null when that is not known"]
    stays_unread: Annotated[int, "offsets at most that this run then leaves unread"]
    notes: Annotated[list[str], "what the trigger and the limits mean for it and for those after it"]


class SourceLagFields(_UnreadFields):
    """How far a query is behind one source."""

    partitions: Annotated[list[PartitionLagFields], "the partitions of Kafka topics"]
    next_batch: Annotated[NextBatchFields | None, "the next batch of a Kafka source"]
    notes: Annotated[list[str], "what the numbers leave out, or why there are none"]


class LagDocument(Document):
    """How far a query is behind its sources."""

    location: Annotated[str, "URI of the checkpoint"]
    query_id: Annotated[str | None, "id of the query; null when `metadata` is missing"]
    latest_committed_batch: Annotated[int | None, "latest batch of the commit log: what it has read is read"]
    planned_at_ms: Annotated[int | None, "when this batch began, epoch milliseconds: the time of the positions"]
    sources: Annotated[list[SourceLagFields], "the sources"]


class LagsDocument(Document):
    """How far several queries are behind their sources."""

    queries: Annotated[list[LagDocument], "the queries, in the order in which they were named"]
    not_read: Annotated[list[str], "checkpoints of which nobody can tell, each with the reason"]


class TranslatedFields(TypedDict):
    """Where a query goes on in one partition of another cluster."""

    topic: Annotated[str, "topic that the query has read"]
    partition: Annotated[int, "number of the partition, in both clusters"]
    position: Annotated[int | None, "first offset that was not read; null for a partition that is new to the query"]
    to_topic: Annotated[str, "topic in the other cluster"]
    offset: Annotated[int, "where to begin there"]
    timestamp_ms: Annotated[
        int | None, "timestamp that was searched for, epoch milliseconds; null when none was needed"
    ]
    read_again: Annotated[int, "offsets at most of what was read that are read again"]
    not_proven: Annotated[
        int, "unread offsets that may be skipped, with the reasons in `notes`; 0 when nothing is skipped"
    ]
    notes: Annotated[list[str], "what is to be known of it"]


class ExportDocument(Document):
    """A position for another reader."""

    location: Annotated[str, "URI of the checkpoint"]
    source_id: Annotated[str, "id of the source"]
    batch_id: Annotated[int, "the committed batch after which the other reader begins"]
    form: Annotated[str, "what the text is for, such as `startingOffsets` or `csv`"]
    text: Annotated[str, "the text, as the option or the tool takes it"]
    translated: Annotated[list[TranslatedFields] | None, "each partition of the other cluster; null without one"]


class PublicationFields(TypedDict):
    """Offsets of one checkpoint that a consumer group got."""

    location: Annotated[str, "URI of the checkpoint"]
    source_id: Annotated[str, "id of the source"]
    batch_id: Annotated[int, "latest committed batch, whose position it is"]
    group: Annotated[str, "name of the consumer group"]
    offsets: Annotated[dict[str, dict[str, int]], "offset of each partition, by topic and partition"]
    lag: Annotated[int, "offsets from there to the ends of the partitions, in total; records are at most as many"]
    warnings: Annotated[list[str], "partitions that are not as the checkpoint says"]
    error: Annotated[None, "null"]


class NotPublishedFields(TypedDict):
    """A checkpoint whose position was not published."""

    location: Annotated[str | None, "URI of the checkpoint"]
    error: Annotated[ErrorFields, "why not"]


class PublishDocument(Document):
    """Offsets that were published to consumer groups."""

    published: Annotated[bool, "false with `--dry-run`: nothing was written"]
    publish_again_before_ms: Annotated[
        int | None,
        "when the broker forgets these offsets (`offsets.retention.minutes`), epoch milliseconds; null when it does "
        "not say, or with `--dry-run`",
    ]
    checkpoints: Annotated[list[PublicationFields | NotPublishedFields], "checkpoints, in the order of the call"]
