"""Where a Kafka source goes: its broker is asked for what the topics hold, and for the records of a time."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import MalformedEntryError, PlanError
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.sources.goal import OF_DELTA, OF_ICEBERG, Goal, goal_key
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker, read_extent
from airflow_provider_ckpt.sources.kafka.extent import Extent, Partition, offsets_of, to_json
from airflow_provider_ckpt.sources.kafka.kafka_csv import write_csv
from airflow_provider_ckpt.sources.kafka.strategies import (
    FromFile,
    Scope,
    ShiftBy,
    Strategy,
    Target,
    ToOffsets,
    asked_ms,
    listed,
    target,
    text_of,
)
from airflow_provider_ckpt.sources.move import Counted, Move
from airflow_provider_ckpt.sources.open_end import Access

#: Partitions that are shown one by one; the others are counted.
_SHOWN = 10


def aim_of(declared: Source, goal: Goal, scope: Scope, access: Access) -> KafkaAim | None:
    """Where a Kafka source is to go; None for a goal in a table."""
    if isinstance(goal, OF_DELTA + OF_ICEBERG):
        return None
    return KafkaAim(KafkaBroker(declared.location, access.kafka_config_of(declared.location)), goal, scope)


@dataclass(frozen=True, slots=True)
class KafkaAim:
    """Where a Kafka source is to go (:class:`~airflow_provider_ckpt.sources.move.Aim`).

    Args:
        broker: The broker of its topics.
        strategy: Where to.
        scope: The partitions that are moved.
    """

    broker: KafkaBroker
    strategy: Strategy
    scope: Scope = field(default_factory=Scope)

    @property
    def text(self) -> str:
        """The goal as it was given."""
        return text_of(self.strategy) + _digest(self.strategy) + _scope_text(self.scope)

    @property
    def key(self) -> str:
        """The goal as text for a digest; see :class:`~airflow_provider_ckpt.sources.move.Aim`."""
        return " ".join([goal_key(self.strategy), *_scope_texts(self.scope)])

    @property
    def is_relative(self) -> bool:
        """True for a shift by a number of records."""
        return isinstance(self.strategy, ShiftBy)

    def move(
        self,
        source_id: str,
        committed: SourceOffset,
        planned: SourceOffset | None,
        initial: SourceOffset | None = None,
    ) -> Move:
        """Move the partitions of the source to the goal; see :class:`~airflow_provider_ckpt.sources.move.Aim`."""
        found, before = self.target(source_id, committed, planned), _positions(source_id, committed)
        notes = (*_moved(before, found.offsets), *found.notes, *_of_an_earlier_topic(found), *self._of_times())
        new = SourceOffset(to_json(found.offsets))
        return Move(source_id, "kafka", committed, new, _warnings(found), notes, _counted(before, found))

    def target(self, source_id: str, committed: SourceOffset, planned: SourceOffset | None = None) -> Target:
        """The position of each partition. Raises as :meth:`move`."""
        current = _positions(source_id, committed)
        extent = read_extent(self.broker, {topic for topic, _ in current} | set(self.scope.topics))
        ends = _positions(source_id, planned) if planned is not None else {}
        found_at = self._found_at(extent)
        try:
            found = target(self.strategy, current, extent, self.scope, found_at=found_at, planned=ends)
        except ValueError as error:
            raise PlanError(f"{error}.", location=self.broker.location, hint="Nothing was done.") from None
        self._require_stable({at: offset for at, offset in found.offsets.items() if offset != current.get(at)})
        return found

    def _require_stable(self, moved: Mapping[Partition, int]) -> None:
        """A query that reads committed records alone stops when it is past the first record of an open transaction."""
        stable = {} if self.broker.says_isolation else self.broker.last_stable(moved)
        if past := [at for at, end in stable.items() if moved[at] > end]:
            at = min(past)
            raise PlanError(
                f"a transaction is open in {listed(past)}: a query that reads committed records alone would stop at "
                f"offset {moved[at]:,}, because it reads up to {stable[at]:,} for now.",
                location=self.broker.location,
                hint="Nothing was done. Say how the query reads: --kafka-config isolation.level=read_committed "
                "(in a DAG isolation.level in the extra of kafka_conn_id), or read_uncommitted when it does not set "
                "kafka.isolation.level.",
            )

    def _of_times(self) -> tuple[str, ...]:
        """Whose time it is that was asked for: who takes back a bad deploy thinks of another one."""
        if asked_ms(self.strategy, now_ms()) is None:
            return ()
        return (
            "The time is that of the records. What the query has processed since a time is taken back by ckpt rollback "
            "--to-timestamp.",
        )

    def _found_at(self, extent: Extent) -> Mapping[Partition, int | None]:
        at_ms = asked_ms(self.strategy, now_ms())
        return {} if at_ms is None else self.broker.first_at(extent.partitions, at_ms)


def _positions(source_id: str, offset: SourceOffset) -> dict[Partition, int]:
    try:
        return offsets_of(offset)
    except MalformedEntryError as error:
        raise PlanError(
            f"source {source_id} is not a Kafka source: {error.message}.", hint="Nothing was done."
        ) from None


def _moved(before: Mapping[Partition, int], after: Mapping[Partition, int]) -> tuple[str, ...]:
    """Old and new positions, partition by partition, as far as these are few."""
    moved = [at for at, offset in after.items() if at in before and offset != before[at]]
    texts = [f"{listed([at])} from {before[at]:,} to {after[at]:,}" for at in moved[:_SHOWN]]
    more = [f"and {len(moved) - _SHOWN} more partitions"] if len(moved) > _SHOWN else []
    return (f"{', '.join([*texts, *more])}.",) if moved else ()


def _counted(before: Mapping[Partition, int], found: Target) -> Counted | None:
    """Records read again and left out, where topics may have been created again; None where offsets alone tell that.

    Of such a topic nothing may have been read, so the records left out are counted from its beginning; and the records
    read of it, if it is the same topic, end where it ends now.
    """
    back = [at for at in found.perhaps_new if found.offsets[at] < before[at]]
    if not found.perhaps_new:
        return None
    same = {at: new - before.get(at, 0) for at, new in found.offsets.items() if at not in found.perhaps_new}
    new_topic = {at: found.offsets[at] - first for at, (first, _) in found.perhaps_new.items()}
    again = sum(-distance for distance in same.values() if distance < 0)
    left_out = sum(distance for distance in (*same.values(), *new_topic.values()) if distance > 0)
    perhaps = sum(max(0, min(before[at], found.perhaps_new[at][1]) - found.offsets[at]) for at in back)
    return Counted(_offsets(again), _offsets(left_out), f"at most {perhaps:,} offsets" if back else "")


def _offsets(number: int) -> str:
    return f"at most {number:,} offsets" if number else ""


def _of_an_earlier_topic(found: Target) -> tuple[str, ...]:
    if not found.perhaps_new:
        return ()
    topics = " and ".join(sorted({topic for topic, _ in found.perhaps_new}))
    return (
        f"A position in {topics} is past the end, or the batch in flight goes back there: the topic was created again, "
        "or has lost records. What the query had not read of these, or of an earlier topic, is lost; nobody can say "
        "how much that was.",
    )


def _warnings(found: Target) -> tuple[str, ...]:
    shown = tuple(
        f"{listed([item.partition])} does not hold offset {item.wanted:,}: it goes to {item.offset:,}."
        for item in found.clamped[:_SHOWN]
    )
    more = len(found.clamped) - len(shown)
    return (*shown, f"So do {more} more partitions, each to the nearest offset that it holds.") if more else shown


def _digest(strategy: Strategy) -> str:
    """Text that differs for two lists of offsets."""
    match strategy:
        case FromFile(offsets):
            listing = write_csv(offsets)
        case ToOffsets(offsets) if not isinstance(offsets, int):
            listing = write_csv(offsets)
        case _:
            return ""
    return f" (digest {hashlib.sha256(listing.encode()).hexdigest()[:8]})"


def _scope_texts(scope: Scope) -> list[str]:
    return [
        topic if numbers is None else f"{topic}:{','.join(map(str, sorted(numbers)))}"
        for topic, numbers in sorted(scope.topics.items())
    ]


def _scope_text(scope: Scope) -> str:
    parts = _scope_texts(scope)
    return f", of {' '.join(parts)} alone" if parts else ""
