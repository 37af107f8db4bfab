"""The next batch of a Kafka source and the way to the end of its topics, in values and in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_provider_ckpt.query.source_options import Limits
from airflow_provider_ckpt.query.trigger import AVAILABLE_NOW, ONCE, REAL_TIME
from airflow_provider_ckpt.sources.kafka.extent import Extent, Partition
from airflow_provider_ckpt.sources.kafka.next_batch import NextBatch, Outlook, batches_until, next_batch, unread_after
from airflow_provider_ckpt.times import duration_text

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.positions import NextBatchFields

#: Ends that a sentence names, those of the batch with most offsets first.
MOST_ENDS = 5


@dataclass(frozen=True, slots=True)
class Coming:
    """The next batch of a source when the query is started now, and how many batches it is from the end.

    Args:
        batch: The next batch.
        outlook: The batches to the present end.
        limits: The limits of the source, as they were declared.
        planned: True if the batch is in the offset log already, so that its end is certain.
    """

    batch: NextBatch
    outlook: Outlook
    limits: Limits
    planned: bool = False

    @property
    def is_open(self) -> bool:
        """True if the batch reads on while it runs, so that it ends at its ends or later."""
        return self.limits.trigger == REAL_TIME

    @property
    def text(self) -> str:
        """One line: the data that the batch reads, and how many batches there are to the end."""
        text = _offsets(self.batch.offsets)
        text = f"at least {text}" if self.is_open else text
        text += ", planned" if self.planned else ""
        if self.batch.waits_ms is not None:
            text += f", after at most {duration_text(self.batch.waits_ms)}"
        return f"{text}; {self.outlook.text}"

    @property
    def ends_text(self) -> str:
        """Where the batch ends in the partitions that it reads from, for people."""
        reads = {at: end - self.batch.starts[at] for at, end in self.batch.ends.items() if end > self.batch.starts[at]}
        named = sorted(reads, key=lambda at: (-reads[at], at))[:MOST_ENDS]
        ends = ", ".join(f"{topic}-{number} to {self.batch.ends[topic, number]}" for topic, number in named)
        more = f" and {len(reads) - len(named)} partitions more" if len(reads) > len(named) else ""
        return f"{ends}{more}" or "nothing"

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on the effect of the trigger and the limits on this batch and those after it."""
        return tuple(self._notes())

    def _notes(self) -> Iterator[str]:
        limits = self.limits
        if self.planned:
            yield "The planned batch runs first, with the range that the offset log has; the limits count after it."
        if self.is_open:
            yield "In real-time mode a batch reads what comes while it runs; an entry without a commit is dropped."
        elif limits.trigger == ONCE:
            yield "The trigger once runs one batch and ignores maxOffsetsPerTrigger and minOffsetsPerTrigger."
        elif limits.most == 0:
            yield "maxOffsetsPerTrigger is 0, so the query never reads anything."
        elif limits.trigger == AVAILABLE_NOW:
            yield "With availableNow the run ends at the ends that the topics have when it starts."
        if limits.least is not None and limits.trigger != ONCE:
            held = f"waits for {limits.least} offsets or {duration_text(limits.delay_ms)}"
            if limits.trigger == AVAILABLE_NOW:
                held = f"needs {limits.least} offsets, or the run ends and leaves fewer than these unread"
            yield f"The first batch after a start runs at once; each later one {held}."

    def to_dict(self) -> NextBatchFields:
        """JSON-ready."""
        return {
            "offsets": self.batch.offsets,
            "planned": self.planned,
            "is_open": self.is_open,
            "waits_ms": self.batch.waits_ms,
            "ends": {f"{topic}-{number}": end for (topic, number), end in sorted(self.batch.ends.items())},
            "batches_at_least": self.outlook.at_least,
            "batches_at_most": self.outlook.at_most,
            "stays_unread": self.outlook.unread,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class NextBatches:
    """Data that the next batch of a query reads of each source.

    Args:
        coming: By id of the source.
        missing: Why that is not known of the others, as sentences, by id.
    """

    coming: Mapping[str, Coming] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


def coming_batch(
    position: Mapping[Partition, int], planned: Mapping[Partition, int] | None, extent: Extent, limits: Limits
) -> Coming:
    """Data that a query reads next when it is started now.

    A planned batch runs first, with its own range. After it, ``once`` ends, and every other trigger goes on as if the
    query were started then. Real-time mode drops it.

    Args:
        position: Where its newest committed batch ended, exclusive.
        planned: Where the batch in flight ends; None without one.
        extent: The topics, as the broker has them.
        limits: The limits of the source.
    """
    if planned is None or limits.trigger == REAL_TIME:
        batch = next_batch(position, extent, limits)
        return Coming(batch, batches_until(extent.latest, position, extent, limits), limits)
    starts = {at: position.get(at, extent.earliest.get(at, 0)) for at in planned}
    return Coming(NextBatch(starts, planned), _after_planned(planned, extent, limits), limits, planned=True)


def _after_planned(planned: Mapping[Partition, int], extent: Extent, limits: Limits) -> Outlook:
    """The batches to the present end, of which the planned one runs first."""
    outlook = batches_until(extent.latest, planned, extent, limits)
    if limits.trigger == ONCE and outlook.at_least != 0:
        return Outlook(None, None, unread_after(planned, extent))
    if outlook.at_least is None or outlook.at_most is None:
        return outlook
    return Outlook(outlook.at_least + 1, outlook.at_most + 1)


def _offsets(count: int) -> str:
    return f"{count} offset{'' if count == 1 else 's'}"
