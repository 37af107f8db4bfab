"""The timeline of a checkpoint: its newest batches, what to know of each, and the changes that people have made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from airflow_provider_ckpt.batches.rows import BatchRow
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.report.charts import Mark, line_chart
from airflow_provider_ckpt.times import duration_text
from airflow_provider_ckpt.visible import visible

#: A batch that comes so many times later than usual has a note.
_LATE = 4
#: One that is committed sooner is never slow, milliseconds.
_LEAST_SLOW_MS = 60_000
#: Confs that are named of a batch; of others the number is said.
_NAMED_CONFS = 3
_SECOND_MS = 1_000


@dataclass(frozen=True, slots=True)
class Note:
    """Something to know of a batch.

    Args:
        text: A sentence without its full stop.
        tone: ``bad``, ``warn`` or ``note``; how it is coloured.
    """

    text: str
    tone: str = "note"


@dataclass(frozen=True, slots=True)
class Read:
    """Units that a batch has read of one source (None where nothing can be counted), and why there is no count."""

    source_id: str
    total: int | None
    unit: str
    problem: str


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch. Times are epoch milliseconds, durations milliseconds; None where nothing says.

    Args:
        batch_id: Its id.
        planned: True if the offset log has it.
        committed: True if the commit log has it.
        planned_at_ms: When it was planned, by the clock of the driver.
        committed_at_ms: When it was committed, by the clock of the storage.
        pause_ms: Time from the planning of the batch before it to its own.
        watermark_ms: Watermark that it ran with.
        reads: Units that it has read, by source.
        notes: Notes for the reader.
        digest: Equal for equal confs.
    """

    batch_id: int
    planned: bool
    committed: bool
    planned_at_ms: int | None
    committed_at_ms: int | None
    pause_ms: int | None
    watermark_ms: int | None
    reads: tuple[Read, ...]
    notes: tuple[Note, ...]
    digest: str | None

    @property
    def duration_ms(self) -> int | None:
        """Time from its planning to its commit; None where the two clocks disagree."""
        if self.planned_at_ms is None or self.committed_at_ms is None or self.committed_at_ms < self.planned_at_ms:
            return None
        return self.committed_at_ms - self.planned_at_ms

    @property
    def state(self) -> str:
        """The state in a word or two."""
        if not self.committed:
            return "not committed"
        return "committed, damaged" if self.is_damaged else "committed"

    @property
    def is_damaged(self) -> bool:
        """True if an entry of it is damaged or missing."""
        return any(note.tone == "bad" for note in self.notes)

    @property
    def tone(self) -> str:
        """How its state is shown: what is damaged is never green."""
        if self.is_damaged:
            return "bad"
        return "good" if self.committed else "warn"


@dataclass(frozen=True, slots=True)
class ConfChange:
    """A once-only conf that a batch has another value of than the batch before it; None is no value."""

    batch_id: int
    planned_at_ms: int | None
    key: str
    before: str | None
    after: str | None


class Logbook:
    """Takes the rows of batches, oldest first, and keeps of each what the page shows."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.conf_changes: list[ConfChange] = []
        self._last: Batch | None = None
        self._confs: Mapping[str, str | None] | None = None

    def add(self, rows: Sequence[BatchRow]) -> None:
        """Add one batch: its rows, one for each source."""
        row, before = rows[0], self._last
        assert row.batch_id is not None
        changed = self._changed_confs(row)
        pause = None
        if before and before.planned_at_ms is not None and row.batch_time_ms is not None:
            pause = max(0, row.batch_time_ms - before.planned_at_ms)
        batch = Batch(
            batch_id=row.batch_id,
            planned=row.planned,
            committed=row.committed,
            planned_at_ms=row.batch_time_ms,
            committed_at_ms=row.committed_at_ms,
            pause_ms=pause,
            watermark_ms=row.watermark_ms,
            reads=tuple(
                Read(item.source.source_id, item.source.total, item.source.unit or "", item.source.problem or "")
                for item in rows
                if item.source
            ),
            notes=tuple(_notes(row, before, changed)),
            digest=row.confs_digest,
        )
        self.conf_changes += changed
        self._last = batch
        self._confs = row.confs if row.confs is not None else self._confs
        self.batches.append(batch)

    def _changed_confs(self, row: BatchRow) -> list[ConfChange]:
        last = self._last.digest if self._last else None
        if self._confs is None or row.confs is None or row.confs_digest == last:
            return []
        before, after = self._confs, row.confs
        return [
            ConfChange(row.batch_id or 0, row.batch_time_ms, key, before.get(key), after.get(key))
            for key in sorted({*before, *after})
            if before.get(key) != after.get(key)
        ]


def _notes(row: BatchRow, before: Batch | None, changed: Sequence[ConfChange]) -> Iterable[Note]:
    if row.problem:
        yield Note(row.problem, "bad")
    if before is not None and row.batch_id != before.batch_id + 1:
        yield Note(f"The logs have no batch between {before.batch_id} and {row.batch_id}", "warn")
    if row.control:
        yield Note(f"No batch of the query, but of a {row.control.lower()}")
    if changed:
        names = ", ".join(change.key.removeprefix("spark.sql.") for change in changed[:_NAMED_CONFS])
        others = f" and {len(changed) - _NAMED_CONFS} more" if len(changed) > _NAMED_CONFS else ""
        yield Note(f"The query was restarted with other confs: {names}{others}")
    if not row.planned:
        yield Note("It is committed, but the offset log has no entry of it", "bad")


def finished(batches: Sequence[Batch], newest: int | None) -> list[Batch]:
    """The batches, newest first, with what only all of them together tell.

    Args:
        batches: Oldest first.
        newest: The newest batch of the logs; a batch that is not committed is in flight only when it is that one.
    """
    pause, took = _usual(batch.pause_ms for batch in batches), _usual(batch.duration_ms for batch in batches)
    return [
        replace(
            batch,
            notes=(*batch.notes, *_late_notes(batch, pause), *_slow_notes(batch, took), *_state_notes(batch, newest)),
        )
        for batch in reversed(batches)
    ]


def _usual(durations_ms: Iterable[int | None]) -> float | None:
    """The median; None of fewer than two."""
    known = [duration_ms for duration_ms in durations_ms if duration_ms]
    return median(known) if len(known) > 1 else None


def _slow_notes(batch: Batch, usual_ms: float | None) -> Iterable[Note]:
    if usual_ms and batch.duration_ms and batch.duration_ms > max(_LATE * usual_ms, _LEAST_SLOW_MS):
        told = f"{duration_text(batch.duration_ms)} after it was planned, usually {duration_text(usual_ms)}"
        yield Note(f"Committed {told}: it was slow, or a restart ran it again", "warn")


def _late_notes(batch: Batch, usual_ms: float | None) -> Iterable[Note]:
    if usual_ms and batch.pause_ms and batch.pause_ms > _LATE * usual_ms:
        told = f"{duration_text(batch.pause_ms)} after the batch before it, usually {duration_text(usual_ms)}"
        yield Note(f"Planned {told}: the query was stopped, idle or stuck", "warn")


def _state_notes(batch: Batch, newest: int | None) -> Iterable[Note]:
    if batch.planned and not batch.committed:
        if batch.batch_id == newest:
            yield Note("In flight: running, or left by a crash; a restart runs it again", "warn")
        else:
            yield Note("Planned and never committed, although later batches are", "bad")


@dataclass(frozen=True, slots=True)
class Change:
    """A change that somebody has made with ckpt, or begun.

    Args:
        plan: The plan.
        state: ``planned``, ``refused``, ``interrupted``, ``applied`` or ``undone``.
        at_ms: When, epoch milliseconds: its end, else its begin.
        by: Who; empty when nobody said.
        approved_by: Who approved it; empty when nobody was asked.
        accepted_sink: Effects on a sink that were accepted.
        from_batch: The newest committed batch before it, or None.
        forgotten: True if it can be taken back no more.
    """

    plan: Plan
    state: str
    at_ms: int
    by: str = ""
    approved_by: str = ""
    accepted_sink: tuple[str, ...] = ()
    from_batch: int | None = None
    forgotten: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the timeline: a batch, or a change that somebody has made."""

    batch: Batch | None = None
    change: Change | None = None


def lines_of(
    batches: Sequence[Batch], changes: Sequence[Change], *, until_ms: int | None = None, are_oldest: bool = True
) -> list[Line]:
    """Batches, newest first, with the changes of that time between them; changes that took no step are left out.

    Args:
        batches: Newest first.
        changes: In any order.
        until_ms: When what follows the batches began, which later changes are shown with; None when nothing follows.
        are_oldest: True if there are no older batches, which earlier changes are shown with.
    """
    todo = [item for item in changes if item.state in ("applied", "undone", "interrupted")]
    todo = sorted((item for item in todo if until_ms is None or item.at_ms <= until_ms), key=lambda item: item.at_ms)
    lines: list[Line] = []
    for batch in batches:
        while todo and batch.planned_at_ms is not None and todo[-1].at_ms > batch.planned_at_ms:
            lines.append(Line(change=todo.pop()))
        lines.append(Line(batch=batch))
    return [*lines, *(Line(change=item) for item in reversed(todo))] if are_oldest else lines


def charts_of(batches: Sequence[Batch], changes: Sequence[Change]) -> list[str]:
    """Charts over time as SVG: how long batches took, the time between them, what they have read of each source."""
    timed = [batch for batch in reversed(batches) if batch.planned_at_ms is not None]
    if len(timed) < 2:
        return []
    span = (float(timed[0].planned_at_ms or 0), float(timed[-1].planned_at_ms or 0))
    marks = [
        Mark(item.at_ms, f"{item.plan.called} to {item.plan.aim}")
        for item in changes
        if span[0] <= item.at_ms <= span[1] and item.state in ("applied", "undone")
    ]
    took = [(_at(batch), batch.duration_ms / _SECOND_MS) for batch in timed if batch.duration_ms]
    pauses = [(_at(batch), batch.pause_ms / _SECOND_MS) for batch in timed if batch.pause_ms]
    charts = [
        line_chart("seconds from planning to commit", {"": took}, span, marks),
        line_chart("seconds from one batch to the next", {"": pauses}, span, marks),
    ]
    reads: dict[str, list[tuple[float, float]]] = {}
    for batch in timed:
        for read in batch.reads:
            if read.total is not None:
                reads.setdefault(visible(f"{read.source_id}: {read.unit}"), []).append(
                    (_at(batch), float(max(read.total, 0)))
                )
    if reads:
        charts.append(line_chart("read by each batch, by source", dict(list(reads.items())[:_SOURCES]), span, marks))
    return charts


#: Sources that are drawn.
_SOURCES = 5


def _at(batch: Batch) -> float:
    return float(batch.planned_at_ms or 0)
