"""The columns of both tables: their names, Spark's types, what they mean, and where a row has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from airflow_provider_ckpt.batches.rows import BatchRow
from airflow_provider_ckpt.fleet.row import FleetRow

STRING, BOOLEAN, INT, BIGINT, TIMESTAMP = "string", "boolean", "int", "bigint", "timestamp"
CONFS = "map<string,string>"
PARTITIONS = "array<struct<partition:string,start:bigint,end:bigint,advanced:bigint>>"
FINDINGS = "array<struct<code:string,severity:string,batch_id:bigint,name:string,message:string,hint:string>>"
TEXTS = "array<string>"


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Args:
        name: Its name.
        type: Its type as Spark's DDL has it.
        meaning: Its content, for people.
        value: Value in a row. A timestamp is epoch milliseconds, a map a mapping, an array a sequence, a struct a
            tuple; None for SQL's NULL.
    """

    name: str
    type: str
    meaning: str
    value: Callable[[Any], Any]


def ddl(columns: Iterable[Column]) -> str:
    """A schema as Spark's ``schema()`` and ``from_ddl`` take it."""
    return ", ".join(f"`{column.name}` {column.type}" for column in columns)


def named(columns: Sequence[Column], names: Iterable[str]) -> tuple[Column, ...]:
    """Columns by their names, in the order asked for. Raises ValueError for an unknown one."""
    known = {column.name: column for column in columns}
    wanted = tuple(names)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ValueError(f"there is no column {unknown[0]!r}; the columns are {', '.join(known)}")
    return tuple(known[name] for name in wanted)


def _of_source(attribute: str) -> Callable[[BatchRow], Any]:
    return lambda row: getattr(row.source, attribute) if row.source else None


_of_row = attrgetter


#: One row for each batch and source. The key is (location, timeline, batch_id, source_id).
BATCHES: tuple[Column, ...] = (
    Column("location", STRING, "URI of the checkpoint", _of_row("location")),
    Column("query_id", STRING, "id of the query", _of_row("query_id")),
    Column(
        "timeline",
        INT,
        "how often a stream over the checkpoint saw its log go back before: a rollback, a restore, a new query there; "
        "null in a batch read, which sees it once",
        _of_row("timeline"),
    ),
    Column("batch_id", BIGINT, "the batch; null when the checkpoint cannot be read", _of_row("batch_id")),
    Column("offset_log_version", INT, "version of its offset entry", _of_row("offset_log_version")),
    Column("commit_log_version", INT, "version of its commit entry", _of_row("commit_log_version")),
    Column("planned", BOOLEAN, "whether the offset log has an entry of this batch", _of_row("planned")),
    Column("committed", BOOLEAN, "whether the commit log has it", _of_row("committed")),
    Column("batch_time", TIMESTAMP, "when it was planned, by the clock of the driver", _of_row("batch_time_ms")),
    Column("committed_at", TIMESTAMP, "when it was committed, by the clock of the storage", _of_row("committed_at_ms")),
    Column("watermark", TIMESTAMP, "watermark that it ran with; null when there is none", _of_row("watermark_ms")),
    Column("next_watermark", TIMESTAMP, "watermark of the next batch", _of_row("next_watermark_ms")),
    Column("confs", CONFS, "the once-only confs", _of_row("confs")),
    Column(
        "confs_digest",
        STRING,
        "equal for equal confs; a map can be neither grouped nor joined",
        _of_row("confs_digest"),
    ),
    Column(
        "control",
        STRING,
        "operation that wrote the batch, such as a repartition; null for the query",
        _of_row("control"),
    ),
    Column("source_id", STRING, "the source: its position or its name", _of_source("source_id")),
    Column("source_type", STRING, "its type, such as kafka; null when nobody declared it", _of_source("source_type")),
    Column(
        "start_offset",
        STRING,
        "where it began (exclusive), as JSON text; null for the oldest batch that is retained",
        _of_source("start_offset"),
    ),
    Column("end_offset", STRING, "where it ended (inclusive), as JSON text", _of_source("end_offset")),
    Column("unit", STRING, "what is counted, such as records", _of_source("unit")),
    Column("advanced", BIGINT, "how much was read; null when it cannot be counted", _of_source("total")),
    Column(
        "partitions",
        PARTITIONS,
        "the same for each source partition",
        lambda row: row.source.partitions if row.source else (),
    ),
    Column("not_counted", STRING, "why advanced is null", _of_source("problem")),
    Column("problem", STRING, "why something of the row is missing: a damaged entry, or purged", _of_row("problem")),
)

#: One row for each checkpoint.
CHECKPOINTS: tuple[Column, ...] = (
    Column("location", STRING, "URI of the checkpoint", _of_row("location")),
    Column("query_id", STRING, "id of the query", _of_row("query_id")),
    Column("latest_planned_batch", BIGINT, "latest batch of the offset log", _of_row("latest_planned_batch")),
    Column("latest_committed_batch", BIGINT, "latest batch of the commit log", _of_row("latest_committed_batch")),
    Column("in_flight", BIGINT, "batch that is planned and not committed", _of_row("in_flight")),
    Column(
        "watermark",
        TIMESTAMP,
        "watermark of the latest committed batch; null when there is none",
        lambda row: row.watermark_ms or None,
    ),
    Column(
        "last_commit_age_ms",
        BIGINT,
        "milliseconds since the latest commit, by the clock of the storage",
        _of_row("last_commit_age_ms"),
    ),
    Column("worst", STRING, "severity of the worst finding", _of_row("worst")),
    Column("findings", FINDINGS, "what the rules found, worst first", lambda row: _findings(row)),
    Column("unknown", TEXTS, "what was not judged", _of_row("unknown")),
    Column("replaced_by", STRING, "version of a pipeline's flow that has replaced it", _of_row("replaced_by")),
    Column(
        "problem", STRING, "why the checkpoint, or a directory that may hold some, cannot be read", _of_row("error")
    ),
)

#: What ``rows`` may be.
TABLES: Mapping[str, tuple[Column, ...]] = {"batches": BATCHES, "checkpoints": CHECKPOINTS}


def _findings(row: FleetRow) -> list[tuple[Any, ...]]:
    return [
        (found.code, found.severity, found.batch_id, found.name, found.message, found.advice) for found in row.findings
    ]
