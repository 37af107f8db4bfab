"""The position of a query: ``show``, ``log`` and ``diff``."""

from __future__ import annotations

from typing import Annotated, TypedDict

from airflow_provider_ckpt.documents import Document


class SourcePositionFields(TypedDict):
    """The position of one source."""

    source_id: Annotated[str, "id of the source: its position (`0`, `1`, …) or its name"]
    committed_offset: Annotated[str | None, "its offset in the latest committed batch, as JSON text"]
    planned_offset: Annotated[str | None, "its offset in the latest planned batch, as JSON text"]


class ShowDocument(Document):
    """The position of a query."""

    location: Annotated[str, "URI of the checkpoint"]
    query_id: Annotated[str | None, "id of the query; null when `metadata` is missing"]
    latest_planned_batch: Annotated[int | None, "latest batch of the offset log"]
    latest_committed_batch: Annotated[int | None, "latest batch of the commit log"]
    in_flight: Annotated[int | None, "batch that is planned and not committed"]
    unfinished_repartition: Annotated[int | None, "state partitions that this batch leads to, when it is a repartition"]
    watermark_ms: Annotated[int | None, "event-time watermark, epoch milliseconds; null when there is none"]
    watermark: Annotated[str | None, "the same time as ISO 8601"]
    batch_timestamp: Annotated[str | None, "when the latest planned batch began (`batchTimestampMs`), ISO 8601"]
    stateful: Annotated[bool, "whether the query is stateful"]
    unknown: Annotated[list[str], "files and directories that ckpt does not know"]
    offset_log_version: Annotated[int | None, "format version of the latest offset log entry"]
    commit_log_version: Annotated[int | None, "format version of the latest commit log entry"]
    sources: Annotated[list[SourcePositionFields], "the offsets of each source"]
    confs: Annotated[dict[str, str | None], "once-only confs that the offset log holds"]


class SourceAdvanceFields(TypedDict):
    """What one source read."""

    source_id: Annotated[str, "id of the source"]
    source_type: Annotated[str | None, "type of the source, such as `kafka`; null when it is not known"]
    start_offset: Annotated[str | None, "start offset (exclusive), as JSON text"]
    end_offset: Annotated[str | None, "end offset (inclusive), as JSON text"]
    unit: Annotated[str | None, "what is counted, such as `records`"]
    partitions: Annotated[dict[str, int], "how much was read from each source partition"]
    total: Annotated[int | None, "how much was read in total; null when it cannot be counted"]
    problem: Annotated[str | None, "why it cannot be counted"]


class BatchFields(TypedDict):
    """One batch of both logs."""

    batch_id: Annotated[int, "id of the batch"]
    planned: Annotated[bool, "whether the offset log has it"]
    committed: Annotated[bool, "whether the commit log has it"]
    batch_timestamp: Annotated[str | None, "when the batch began, ISO 8601"]
    watermark_ms: Annotated[int | None, "watermark with which the batch ran, epoch milliseconds"]
    watermark: Annotated[str | None, "the same time as ISO 8601"]
    next_watermark_ms: Annotated[int | None, "watermark of the next batch, epoch milliseconds"]
    sources: Annotated[list[SourceAdvanceFields], "what each source read"]


class LogDocument(Document):
    """Both logs."""

    location: Annotated[str, "URI of the checkpoint"]
    batches: Annotated[list[BatchFields], "batches, oldest first"]


class DiffDocument(Document):
    """What was read between two batches."""

    location: Annotated[str, "URI of the checkpoint"]
    from_batch: Annotated[int, "batch after which the range begins (exclusive)"]
    to_batch: Annotated[int, "last batch of the range (inclusive)"]
    sources: Annotated[list[SourceAdvanceFields], "what each source read"]
