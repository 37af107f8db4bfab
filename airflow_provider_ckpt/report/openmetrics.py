"""Lags and findings as OpenMetrics text, for Prometheus: a textfile collector, or what a job pushes.

How many time series there are is bounded by what the queries read, and never by how far they are behind: a series that
came and went with the lag could not be alerted on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_ckpt.checks.findings import SEVERITIES
from airflow_provider_ckpt.fleet.row import FleetRow

if TYPE_CHECKING:
    from airflow_provider_ckpt.fleet.queries.row import QueryRow
    from airflow_provider_ckpt.sources.lag import PartitionLag, SourceLag

#: A source with more partitions has a series for each topic alone; with more topics, one for the source alone.
MOST_PARTITIONS, MOST_TOPICS = 10_000, 1_000
#: The same of each source of a fleet.
MOST_PARTITIONS_OF_FLEET = 100
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Family:
    """Gauges of one name."""

    name: str
    unit: str
    about: str

    def lines(self, samples: Iterable[tuple[Labels, float | None]]) -> Iterator[str]:
        """The family, when it has samples; what is not known has none."""
        shown = [f"{self.name}{_labels(labels)} {_number(value)}" for labels, value in samples if value is not None]
        if shown:
            yield f"# TYPE {self.name} gauge"
            if self.unit:
                yield f"# UNIT {self.name} {self.unit}"
            yield f"# HELP {self.name} {self.about}"
            yield from shown


_READABLE = _Family("ckpt_checkpoint_readable", "", "1 when the checkpoint and its declared sources were read, else 0.")
_FINDINGS = _Family("ckpt_checkpoint_findings", "", "Findings of the rules, by severity.")
_CHECKPOINT_EXPIRES = _Family(
    "ckpt_checkpoint_expires_seconds", "seconds", "Time until a source may delete the first that the query needs."
)
_BATCH = _Family("ckpt_committed_batch", "", "Newest committed batch.")
_POSITION = _Family(
    "ckpt_position_timestamp_seconds", "seconds", "When the newest committed batch began, since the epoch."
)
_PARTITION = _Family(
    "ckpt_partition_lag_offsets", "offsets", "Offsets that were not read; there are at most as many records."
)
_LOST = _Family("ckpt_partition_lost_offsets", "offsets", "Unread offsets that the broker does not have any more.")
_PARTITION_AGE = _Family(
    "ckpt_partition_lag_seconds", "seconds", "Age of the first unread record by its timestamp, rounded up."
)
_TOPIC = _Family("ckpt_topic_lag_offsets", "offsets", "Offsets of all partitions of a topic that were not read.")
_OF_UNITS = {
    "offsets": _Family("ckpt_source_lag_offsets", "offsets", "Offsets that were not read; at most as many records."),
    "versions": _Family("ckpt_source_lag_versions", "versions", "Versions of a Delta table that were not read."),
    "snapshots": _Family("ckpt_source_lag_snapshots", "snapshots", "Snapshots of an Iceberg table that were not read."),
}
_PARTIAL = _Family("ckpt_source_lag_partial", "", "1 when more is unread than was counted, else 0.")
_SOURCE_LOST = _Family("ckpt_source_lost_offsets", "offsets", "Unread offsets that the broker does not have any more.")
_PAST_END = _Family(
    "ckpt_source_past_end_partitions", "partitions", "Partitions that end before the position: created again, or cut."
)
_COUNT = _Family("ckpt_source_partitions", "partitions", "Partitions of a Kafka source.")
_FILES = _Family("ckpt_source_lag_files", "files", "Data files that were not read.")
_BYTES = _Family("ckpt_source_lag_bytes", "bytes", "Bytes of the data files that were not read.")
_ROWS = _Family("ckpt_source_lag_rows", "rows", "Rows of the data files that were not read.")
_AGE = _Family("ckpt_source_lag_seconds", "seconds", "Age of the oldest data that was not read.")
_EXPIRES = _Family(
    "ckpt_source_expires_seconds", "seconds", "Time until the first unread record may be deleted by its age."
)
_HOLDS = _Family(
    "ckpt_query_threshold_holds", "", "1 when a threshold of the query file holds, 0 when it is passed or not known."
)


def lag_metrics(*rows: FleetRow) -> str:
    """The lag of some queries, with the mark of the text's end."""
    return _text(_of_lags(rows, MOST_PARTITIONS))


def fleet_metrics(rows: Sequence[FleetRow]) -> str:
    """The lags and findings of a fleet, as one exposition."""
    return _text(_of_fleet(rows))


def _of_fleet(rows: Sequence[FleetRow]) -> list[Iterable[str]]:
    judged = [row for row in rows if row.replaced_by is None]
    findings = (
        ({**_whole(row), "severity": severity}, count)
        for row in judged
        if row.error is None
        for severity, count in _severities(row).items()
    )
    return [
        _READABLE.lines((_whole(row), float(not (row.error or row.lag_error))) for row in judged),
        _FINDINGS.lines(findings),
        _CHECKPOINT_EXPIRES.lines((_whole(row), _seconds(row.expires_ms)) for row in judged),
        *_of_lags([row for row in judged if row.error is None], MOST_PARTITIONS_OF_FLEET),
    ]


def query_metrics(rows: Sequence[QueryRow]) -> str:
    """The lags and findings of the queries of a query file, and which of their thresholds hold."""
    judged = [row.checkpoint or FleetRow(row.location, error=str(row.failure)) for row in rows]
    thresholds = [
        ({"query": row.name, "checkpoint": row.location, "threshold": item.key}, item)
        for row in rows
        for item in row.thresholds
    ]
    return _text([*_of_fleet(judged), _HOLDS.lines((labels, float(item.holds)) for labels, item in thresholds)])


def _text(families: Iterable[Iterable[str]]) -> str:
    return "\n".join([*(line for family in families for line in family), "# EOF", ""])


def _of_lags(rows: Sequence[FleetRow], most_partitions: int) -> Iterator[Iterator[str]]:
    sources = [({**_whole(row), "source": source.source_id}, source) for row in rows for source in row.sources or ()]
    topics = [({**labels, "topic": topic}, unread) for labels, it in sources for topic, unread in _topics(it).items()]
    partitions = [
        ({**labels, "topic": part.topic, "partition": str(part.partition)}, part)
        for labels, source in sources
        if len(source.partitions) <= most_partitions
        for part in source.partitions
    ]
    yield _BATCH.lines((_whole(row), row.latest_committed_batch) for row in rows)
    yield _POSITION.lines((_whole(row), _seconds(row.planned_at_ms)) for row in rows)
    for unit, family in _OF_UNITS.items():
        yield family.lines([(labels, source.total) for labels, source in sources if source.unit == unit])
    yield _PARTIAL.lines((labels, float(source.is_partial)) for labels, source in sources if source.total is not None)
    yield _SOURCE_LOST.lines((labels, source.lost) for labels, source in sources if source.partitions)
    yield _PAST_END.lines((labels, source.past_end) for labels, source in sources if source.partitions)
    yield _COUNT.lines((labels, len(source.partitions)) for labels, source in sources if source.partitions)
    yield _FILES.lines((labels, source.files) for labels, source in sources)
    yield _BYTES.lines((labels, source.size) for labels, source in sources)
    yield _ROWS.lines((labels, source.rows) for labels, source in sources)
    yield _AGE.lines((labels, _seconds(source.age_ms)) for labels, source in sources)
    yield _EXPIRES.lines((labels, _seconds(source.expires_ms)) for labels, source in sources)
    yield _TOPIC.lines(topics)
    yield from _of_partitions(partitions)


def _of_partitions(partitions: Sequence[tuple[Labels, PartitionLag]]) -> Iterator[Iterator[str]]:
    yield _PARTITION.lines((labels, part.unread) for labels, part in partitions)
    yield _LOST.lines((labels, part.lost) for labels, part in partitions)
    yield _PARTITION_AGE.lines((labels, _seconds(part.age_ms)) for labels, part in partitions)


def _topics(source: SourceLag) -> dict[str, int]:
    """Unread data of each topic; empty when there are too many topics."""
    unread: dict[str, int] = {}
    for part in source.partitions:
        unread[part.topic] = unread.get(part.topic, 0) + part.unread
    return unread if len(unread) <= MOST_TOPICS else {}


def _whole(row: FleetRow) -> Labels:
    return {"checkpoint": row.location, "query": row.query_id or ""}


def _severities(row: FleetRow) -> dict[str, int]:
    found = Counter(finding.severity for finding in row.findings)
    return {severity: found[severity] for severity in SEVERITIES}


def _seconds(time_ms: int | None) -> float | None:
    return None if time_ms is None else time_ms / 1000


def _labels(labels: Labels) -> str:
    return "{" + ",".join(f'{key}="{value.translate(_ESCAPES)}"' for key, value in labels.items()) + "}"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
