"""Asking the brokers how a query gets to the offsets that a wait waits for, and whether it gets there at all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offsets.kafka import offsets_of
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.query.source_options import Limits, QueryOptions
from airflow_provider_ckpt.query.trigger import AVAILABLE_NOW, ONCE, REAL_TIME
from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
from airflow_provider_ckpt.sources.kafka.extent import Extent, Partition
from airflow_provider_ckpt.sources.kafka.loss import KafkaSource, losses
from airflow_provider_ckpt.sources.kafka.next_batch import batches_until, unread_after
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.times import duration_text
from airflow_provider_ckpt.waiting import AllOf, AnyOf, Condition, Idle, OffsetsReached, Stalled
from airflow_provider_ckpt.waiting.foreseen import NOTHING, Foreseen


class WaitForesight:
    """Foresees a wait on Kafka sources. It is called with the condition of a poll and what the poll has brought.

    Args:
        sources: Where each source reads from, by id.
        options: Options of the query's sources, and its trigger. A source is asked about when one of both is
            declared.
        access: How the sources are come by.
    """

    def __init__(self, sources: Mapping[str, Source], options: QueryOptions, access: Access) -> None:
        self._sources = {source_id: source for source_id, source in sources.items() if source.type == "kafka"}
        self._options = options
        self._access = access

    def __call__(self, condition: Condition, progress: Progress) -> Foreseen:
        """The way of the query to the condition.

        Raises:
            StoreUnavailableError: A broker does not answer; another try can help.
            StoreError: A broker refuses.
            CheckpointError: An offset is not one of Kafka's.
        """
        brokers = Brokers(self._access.kafka_config, configs=self._access.kafka_configs)
        ways = [
            self._way(source_id, reached, progress, brokers)
            for reached in _offsets_of(condition)
            for source_id in reached.offsets
            if source_id in self._sources and self._is_declared(source_id)
        ]
        ends_itself = self._options.trigger in (AVAILABLE_NOW, ONCE) and not _is_of_silence(condition)
        return replace(together(ways), ends_itself=ends_itself)

    def _is_declared(self, source_id: str) -> bool:
        return self._options.trigger is not None or source_id in self._options.by_source

    def _way(self, source_id: str, reached: OffsetsReached, progress: Progress, brokers: Brokers) -> Foreseen:
        known = progress.offsets.offset(source_id) if progress.offsets else None
        position, target = offsets_of(known), offsets_of(SourceOffset(reached.offsets[source_id]))
        declared, options = self._sources[source_id], self._options.of(source_id)
        extent = brokers.extent(declared.location, _topics(declared, position, target)).only(options.assigned)
        if position and progress.batch_id is not None:
            source = KafkaSource(
                source_id,
                progress.batch_id,
                layout.offset_entry(progress.batch_id),
                position,
                None,
                extent,
                topics=declared.topics,
                options=options,
            )
            if stop := next((found for found in losses(source) if found.spark_error), None):
                message = stop.message[:1].upper() + stop.message[1:].rstrip(".")
                return Foreseen(problem=f"{message}: the query stops with {stop.spark_error}.")
        return way_of(source_id, position, target, extent, options.limits, slack=reached.slack)


def way_of(
    source_id: str,
    position: Mapping[Partition, int],
    target: Mapping[Partition, int],
    extent: Extent,
    limits: Limits,
    *,
    slack: int = 0,
) -> Foreseen:
    """How a query gets from a position to a target, whether it runs now or not.

    A batch that is under way was planned with fewer records than there are now, so a limit gives bounds and no number:
    a batch reads at most one offset more than ``maxOffsetsPerTrigger`` for each partition, and at least one of each
    partition that has any.

    Args:
        source_id: The source, for sentences.
        position: Where its newest committed batch ended, exclusive.
        target: The condition to wait for.
        extent: The topics, as the broker has them.
        limits: The limits of the source.
        slack: Number of offsets that may be missing in all.
    """
    unread, left = unread_after(position, extent), _left(position, target, extent)
    if sum(left.values()) <= slack:
        return NOTHING
    if limits.most == 0 and limits.trigger != ONCE:
        problem = f"maxOffsetsPerTrigger of source {source_id} is 0, so the query never reads anything."
        return Foreseen(problem=problem, is_final=True)
    goes_on = batches_until(target, position, extent, limits, is_first=False)
    if limits.trigger == AVAILABLE_NOW and not goes_on.is_reached and slack < goes_on.unread:
        return Foreseen(
            problem=f"With availableNow and minOffsetsPerTrigger={limits.least} the query ends with at most "
            f"{goes_on.unread} offsets of source {source_id} unread, until its next start."
        )
    if slack or not goes_on.is_reached:
        return NOTHING
    if limits.trigger == REAL_TIME:
        return Foreseen(at_least=1)
    held = None
    if limits.least is not None and unread < limits.least and limits.trigger != ONCE:
        held = (
            f"Source {source_id} has {unread} offsets unread, fewer than minOffsetsPerTrigger={limits.least}, so its "
            f"next batch may be held back for {duration_text(limits.delay_ms)}."
        )
    if limits.most is None or limits.trigger == ONCE:
        return Foreseen(1, None if limits.trigger == ONCE else 2, goes_on.at_most, held=held)
    fewest = math.ceil(sum(left.values()) / (limits.most + len(extent.latest)))
    return Foreseen(max(1, fewest), max(left.values()) + 1, goes_on.at_most, held=held)


def together(ways: list[Foreseen]) -> Foreseen:
    """Several sources as one: a batch reads of all of them, so the longest way counts."""
    if not ways:
        return NOTHING
    problems = [way for way in ways if way.problem is not None]
    if problems:
        return max(problems, key=lambda way: way.is_final)
    at_least = max((way.at_least for way in ways if way.at_least is not None), default=None)
    return Foreseen(
        at_least,
        _longest([way.at_most for way in ways]),
        _longest([way.if_quiet for way in ways]),
        held=next((way.held for way in ways if way.held), None),
    )


def _longest(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return max(known) if len(known) == len(counts) else None


def _offsets_of(condition: Condition) -> Iterator[OffsetsReached]:
    """The offsets that all have to be reached."""
    if isinstance(condition, OffsetsReached):
        yield condition
    elif isinstance(condition, AllOf):
        for part in condition.conditions:
            yield from _offsets_of(part)


def _is_of_silence(condition: Condition) -> bool:
    """True if a condition, or a part of it, is met when nothing is committed."""
    if isinstance(condition, AllOf | AnyOf):
        return any(map(_is_of_silence, condition.conditions))
    return isinstance(condition, Idle | Stalled)


def _left(position: Mapping[Partition, int], target: Mapping[Partition, int], extent: Extent) -> dict[Partition, int]:
    """How many offsets are between a position and a target, of the partitions that are not there yet."""
    starts = {at: position.get(at, extent.earliest.get(at, 0)) for at in target}
    return {at: end - starts[at] for at, end in target.items() if end > starts[at]}


def _topics(declared: Source, *offsets: Mapping[Partition, int]) -> set[str]:
    return {*declared.topics, *(topic for known in offsets for topic, _ in known)}
