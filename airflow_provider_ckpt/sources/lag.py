"""How far a query is behind its sources.

A lag of Kafka is counted in offsets. It is at least the number of records: control records of transactions, and records
that compaction has removed, have offsets as well. Tables and directories are counted in versions, snapshots and files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from airflow_provider_ckpt.checkpoint.contents import listed_shortly
from airflow_provider_ckpt.documents.as_document import Documented
from airflow_provider_ckpt.sources.kafka.coming import Coming
from airflow_provider_ckpt.sources.kafka.extent import Extent, Partition, Retention
from airflow_provider_ckpt.sources.table_loss import Unread

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.positions import ComingFields, LagSummaryFields, SourceLagFields


#: Beginning of a note that matters more than the numbers.
SPARK_STOPS = "Spark does not start, unless failOnDataLoss is false"
#: Beginning of a note that says why.
NOT_KNOWN = "how far it is behind is not known: "


@dataclass(frozen=True, slots=True)
class PartitionLag(Documented):
    """The lag of one partition of a Kafka topic."""

    topic: Annotated[str, "name of the topic"]
    partition: Annotated[int, "number of the partition"]
    position: Annotated[int | None, "first offset that was not read; null for a partition that is new to the query"]
    end: Annotated[int, "where the next record goes"]
    unread: Annotated[int, "offsets that are left to be read; there are at most as many records"]
    lost: Annotated[int, "offsets after the position that the broker does not have any more"] = 0
    age_ms: Annotated[
        int | None, "age of the first unread record by its timestamp, rounded up; null without `--ages`"
    ] = None
    expires_ms: Annotated[int | None, "until `retention.ms` may delete that record; null when it never does"] = None


@dataclass(frozen=True, slots=True)
class SourceLag:
    """The lag of one source.

    Args:
        source_id: Its position in the query, or its name.
        source_type: Its type, as declared; None when it was not.
        unit: The unit, such as ``offsets``; None when nothing can be counted.
        total: How much is unread in all; None when that is not known.
        partitions: Of Kafka.
        files: Unread data files of a table or a directory.
        size: Their bytes.
        rows: Their rows, of a table that counts them.
        age_ms: The age of the oldest unread data, milliseconds; of Kafka as of its partitions. None when it is not
            known, be it of one partition with unread records.
        next_batch: Of Kafka.
        notes: Sentences on what the numbers leave out, or why there are none.
        is_partial: True if more is unread than was counted.
    """

    source_id: str
    source_type: str | None
    unit: str | None = None
    total: int | None = None
    partitions: tuple[PartitionLag, ...] = ()
    files: int | None = None
    size: int | None = None
    rows: int | None = None
    age_ms: int | None = None
    next_batch: Coming | None = None
    notes: tuple[str, ...] = ()
    is_partial: bool = False

    def is_within(self, most: int | None, max_age_ms: int | None) -> bool:
        """True if the query is near enough to the end of this source.

        A source that has no end is always near enough; one that was not declared, or not counted in full, never is,
        and neither is one that has lost unread records: no committed batch is past them.

        Args:
            most: Most unread data, in the unit of the source; None for any number.
            max_age_ms: Greatest age of the oldest unread data, milliseconds; None for any age.
        """
        if self.source_type is None or self.is_partial or self.lost:
            return False
        if self.total is None or self.total == 0:
            return True
        if most is not None and self.total > most:
            return False
        return max_age_ms is None or (self.age_ms is not None and self.age_ms <= max_age_ms)

    @property
    def is_known(self) -> bool:
        """False if nobody can tell where the query is in it, and so how far it is behind."""
        return not (self.is_partial and self.total is None)

    @property
    def expires_ms(self) -> int | None:
        """Until the first unread record of a partition expires, milliseconds: the shortest time that is known.

        None when none is. A partition whose age is not known may expire before.
        """
        return min((part.expires_ms for part in self.partitions if part.expires_ms is not None), default=None)

    @property
    def lost(self) -> int:
        """Unread offsets that the broker does not have any more."""
        return sum(part.lost for part in self.partitions)

    @property
    def past_end(self) -> int:
        """Partitions of which the query is past the end: they were created again, or have lost records."""
        return sum(part.position is not None and part.position > part.end for part in self.partitions)

    def to_dict(self) -> SourceLagFields:
        """JSON-ready."""
        return {
            "source_id": self.source_id,
            "source_type": self.source_type,
            "unit": self.unit,
            "total": self.total,
            "is_partial": self.is_partial,
            "files": self.files,
            "bytes": self.size,
            "rows": self.rows,
            "age_ms": self.age_ms,
            "expires_ms": self.expires_ms,
            "partitions": [partition.to_dict() for partition in self.partitions],
            "next_batch": None if self.next_batch is None else self.next_batch.to_dict(),
            "notes": list(self.notes),
        }


def lag_not_known(source_id: str, source_type: str, why: str) -> SourceLag:
    """The lag of a source of which nobody can tell where the query is in it, which is never near enough to its end.

    Args:
        source_id: The source.
        source_type: Its type, as declared.
        why: What is wrong, without a full stop.
    """
    note = f"{NOT_KNOWN}{why}. ckpt gate says what Spark does with it"
    return SourceLag(source_id, source_type, notes=(note,), is_partial=True)


def lag_of_kafka(
    source_id: str,
    position: Mapping[Partition, int],
    extent: Extent,
    ages: Mapping[Partition, int | None],
    retention: Mapping[str, Retention] | None = None,
) -> SourceLag:
    """The lag of a Kafka source.

    Args:
        source_id: The source.
        position: Where its newest committed batch ended, exclusive.
        extent: Its topics, as the broker has them.
        ages: Result of :func:`~airflow_provider_ckpt.sources.kafka.ask_brokers.find_ages`; empty when nobody asked.
        retention: How long the topics keep their records; None when nobody asked.
    """
    kept = retention or {}
    partitions = tuple(_lag(at, position.get(at), extent, ages.get(at), kept.get(at[0])) for at in extent.partitions)
    unread_ages = [item.age_ms for item in partitions if item.unread]
    known_ages = [age_ms for age_ms in unread_ages if age_ms is not None]
    ageless = [at for at in extent.partitions if ages.get(at, 0) is None]
    return SourceLag(
        source_id,
        "kafka",
        "offsets",
        sum(item.unread for item in partitions),
        partitions,
        age_ms=max(known_ages) if known_ages and len(known_ages) == len(unread_ages) else None,
        is_partial=bool(_beyond(position, extent) or position.keys() - extent.latest.keys()),
        notes=(*_notes(position, extent), *_ageless(ageless), *_sizes(kept)),
    )


def lag_of_table(source_id: str, source_type: str, unread: Unread, now_ms: int) -> SourceLag:
    """The lag of a source that is a table or a directory."""
    return SourceLag(
        source_id,
        source_type,
        unread.unit,
        unread.count,
        files=unread.files,
        size=unread.size,
        rows=unread.rows,
        age_ms=None if unread.oldest_ms is None else max(0, now_ms - unread.oldest_ms),
        notes=() if unread.note is None else (unread.note,),
        is_partial=unread.is_partial,
    )


def _lag(
    at: Partition, position: int | None, extent: Extent, age_ms: int | None, retention: Retention | None
) -> PartitionLag:
    earliest, end = extent.earliest[at], extent.latest[at]
    start = earliest if position is None else max(position, earliest)
    lost = 0 if position is None else max(0, min(earliest, end) - position)
    expires_ms = None
    if age_ms is not None and retention is not None and retention.time_ms is not None:
        expires_ms = max(0, retention.time_ms - age_ms)
    return PartitionLag(*at, position, end, max(0, end - start), lost, age_ms, expires_ms)


def _ageless(partitions: Iterable[Partition]) -> list[str]:
    names = [f"{topic}-{number}" for topic, number in partitions]
    return [f"the age of {_some(names)} is not known: the records have no timestamps"] if names else []


def _sizes(retention: Mapping[str, Retention]) -> list[str]:
    limited = sorted(topic for topic, kept in retention.items() if kept.size is not None)
    return [f"{_some(limited)} is limited in bytes as well, so records may expire sooner"] if limited else []


def _notes(position: Mapping[Partition, int], extent: Extent) -> list[str]:
    notes = []
    if gone := sorted(f"{topic}-{number}" for topic, number in position.keys() - extent.latest.keys()):
        notes.append(f"the broker does not have {_some(gone)}, which the query has read")
    if beyond := [f"{at[0]}-{at[1]}" for at in _beyond(position, extent)]:
        why = "the topic was created again, or has lost records"
        notes.append(f"{SPARK_STOPS}: the query is past the end of {_some(beyond)}, because {why}")
    return notes


def _beyond(position: Mapping[Partition, int], extent: Extent) -> list[Partition]:
    """Partitions that end before the query: what is in them now was never read."""
    return [at for at in extent.partitions if position.get(at, 0) > extent.latest[at]]


def _some(names: list[str]) -> str:
    return listed_shortly(names, 3)


#: So many partitions are named of each source.
MOST_NAMED = 10


def worst_of(source: SourceLag, most: int = MOST_NAMED) -> tuple[PartitionLag, ...]:
    """The partitions that are furthest behind: first those that have lost records, then those with most unread."""
    behind = [part for part in source.partitions if part.unread or part.lost]
    return tuple(sorted(behind, key=lambda part: (-part.lost, -part.unread, part.topic, part.partition))[:most])


def summary_of(source: SourceLag, most: int = MOST_NAMED) -> LagSummaryFields:
    """The lag of a source, JSON-ready and bounded; ``SourceLag.to_dict`` has all of its partitions."""
    worst = worst_of(source, most)
    return {
        "source_id": source.source_id,
        "source_type": source.source_type,
        "unit": source.unit,
        "total": source.total,
        "is_partial": source.is_partial,
        "files": source.files,
        "bytes": source.size,
        "rows": source.rows,
        "age_ms": source.age_ms,
        "expires_ms": source.expires_ms,
        "lost": source.lost,
        "partition_count": len(source.partitions),
        "partitions": [part.to_dict() for part in worst],
        "others": len(source.partitions) - len(worst),
        "others_unread": sum(part.unread for part in source.partitions) - sum(part.unread for part in worst),
        "next_batch": _coming(source),
        "notes": list(source.notes),
    }


def _coming(source: SourceLag) -> ComingFields | None:
    if source.next_batch is None:
        return None
    batch, outlook = source.next_batch.batch, source.next_batch.outlook
    return {
        "offsets": batch.offsets,
        "planned": source.next_batch.planned,
        "waits_ms": batch.waits_ms,
        "batches_at_least": outlook.at_least,
        "batches_at_most": outlook.at_most,
        "stays_unread": outlook.unread,
    }
