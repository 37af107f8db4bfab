"""A lag as OpenMetrics text, for Prometheus: a textfile collector, or what a job pushes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.positions import LagDocument, SourceLagFields

_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


@dataclass(frozen=True, slots=True)
class _Family:
    """Gauges of one name."""

    name: str
    unit: str
    about: str

    def lines(self, samples: Iterable[tuple[Mapping[str, str], float]]) -> Iterator[str]:
        """The family, when it has samples."""
        shown = [f"{self.name}{_labels(labels)} {_number(value)}" for labels, value in samples]
        if shown:
            yield f"# TYPE {self.name} gauge"
            if self.unit:
                yield f"# UNIT {self.name} {self.unit}"
            yield f"# HELP {self.name} {self.about}"
            yield from shown


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
_OF_UNITS = {
    "offsets": _Family("ckpt_source_lag_offsets", "offsets", "Offsets that were not read; at most as many records."),
    "versions": _Family("ckpt_source_lag_versions", "versions", "Versions of a Delta table that were not read."),
    "snapshots": _Family("ckpt_source_lag_snapshots", "snapshots", "Snapshots of an Iceberg table that were not read."),
}
_FILES = _Family("ckpt_source_lag_files", "files", "Data files that were not read.")
_BYTES = _Family("ckpt_source_lag_bytes", "bytes", "Bytes of the data files that were not read.")
_AGE = _Family("ckpt_source_lag_seconds", "seconds", "Age of the oldest data that was not read.")
_EXPIRES = _Family(
    "ckpt_source_expires_seconds", "seconds", "Time until the first unread record may be deleted by its age."
)


def lag_metrics(document: LagDocument) -> str:
    """The text, with the mark of its end. What is not known has no sample."""
    location, sources = document["location"], document["sources"]
    whole = {"checkpoint": location}

    def of(source: SourceLagFields) -> dict[str, str]:
        return {**whole, "source": source["source_id"]}

    partitions = [
        ({**of(source), "topic": item["topic"], "partition": str(item["partition"])}, item)
        for source in sources
        for item in source["partitions"]
    ]
    batch, planned_ms = document["latest_committed_batch"], document["planned_at_ms"]
    families = [
        _BATCH.lines([(whole, batch)] if batch is not None else []),
        _POSITION.lines([(whole, planned_ms / 1000)] if planned_ms is not None else []),
        *(
            family.lines([(of(source), total) for source in sources if (total := _total(source, unit)) is not None])
            for unit, family in _OF_UNITS.items()
        ),
        _FILES.lines((of(source), source["files"]) for source in sources if source["files"] is not None),
        _BYTES.lines((of(source), source["bytes"]) for source in sources if source["bytes"] is not None),
        _AGE.lines((of(source), source["age_ms"] / 1000) for source in sources if source["age_ms"] is not None),
        _EXPIRES.lines(
            (of(source), source["expires_ms"] / 1000) for source in sources if source["expires_ms"] is not None
        ),
        _PARTITION.lines((labels, item["unread"]) for labels, item in partitions),
        _LOST.lines((labels, item["lost"]) for labels, item in partitions),
        _PARTITION_AGE.lines(
            (labels, item["age_ms"] / 1000) for labels, item in partitions if item["age_ms"] is not None
        ),
    ]
    return "\n".join([*(line for family in families for line in family), "# EOF", ""])


def _total(source: SourceLagFields, unit: str) -> int | None:
    return source["total"] if source["unit"] == unit else None


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{key}="{value.translate(_ESCAPES)}"' for key, value in labels.items()) + "}"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
