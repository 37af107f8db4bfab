"""Checks that a query went on, after a restart or a rollback, where it had stopped.

Take a :class:`~airflow_provider_ckpt.restart.bookmark.Bookmark` before the deploy, keep it as JSON, and compare it with
the checkpoint when the query has run again. What the logs cannot show, and what therefore is not judged:

* An entry holds where each source *ended*. Where a batch really started is not written down: a source that moves its
  start past expired data (Kafka without ``failOnDataLoss``), or reads something twice, leaves the same entries.
* Offsets of a source whose type is not known are text: they can be equal, they have no order. Iceberg snapshot ids have
  none either.
* In offset log version 1 sources have no names; two sources that changed places are like two sources that moved.
* Entries that Spark has purged say nothing, and neither log says what has reached the sink.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from airflow_provider_ckpt.checkpoint.contents import listed_shortly
from airflow_provider_ckpt.checkpoint.progress import source_kind
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding, Severity, a_warning, an_error, worst_first
from airflow_provider_ckpt.checks.remedies import RESTORE_COMMAND
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.jvm_text import abbreviate
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.codec.typed_offset import Order
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.restart.bookmark import Bookmark, Offsets, offsets_of
from airflow_provider_ckpt.times import time_text

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.tasks import ContinuityResultDocument


@dataclass(frozen=True, slots=True)
class Continuity:
    """Progress of a query since its bookmark.

    Args:
        bookmark: Where it had stopped.
        latest_committed: The newest committed batch now.
        findings: Findings against a continuation, errors first.
    """

    bookmark: Bookmark
    latest_committed: int | None
    findings: tuple[Finding, ...]

    @property
    def status(self) -> str:
        """``broken`` (an error), ``pending`` (nothing committed yet), ``doubtful`` (a warning) or ``continued``."""
        severities = {finding.severity for finding in self.findings}
        if "error" in severities:
            return "broken"
        if self.latest_committed is None or self.latest_committed < self.bookmark.next_batch:
            return "pending"
        return "doubtful" if "warning" in severities else "continued"

    def to_dict(self) -> ContinuityResultDocument:
        """JSON-ready."""
        return {
            "format_version": FORMAT_VERSION,
            "status": self.status,
            "batch_id": self.bookmark.batch_id,
            "latest_committed_batch": self.latest_committed,
            "findings": [finding.to_dict() for finding in self.findings],
            "findings_left_out": 0,
        }


def continuity(bookmark: Bookmark, view: CheckpointView, source_types: Mapping[str, str] | None = None) -> Continuity:
    """Compare a bookmark with the checkpoint as it is now.

    Args:
        bookmark: Taken before the restart; after a rollback to an earlier batch, take a new one.
        view: The checkpoint now, with the entries of the bookmark's batch and of the next one:
            ``observe(store, batch_id=bookmark.next_batch)``.
        source_types: Declared type by source id, for sources that the log does not name the type of.

    Raises:
        CheckpointFormatError: An entry is damaged, or an offset does not have the form of its source.
        CheckpointNotFoundError: One of the two entries was not read.
        CheckpointError: A declared type is unknown.
    """
    findings = [
        *_query_id(bookmark, view),
        *_history(bookmark, view),
        *_batch_in_flight(bookmark, view),
        *_sources(bookmark, view, source_types or {}),
        *_jump(bookmark, view),
        *_never_committed(bookmark, view),
    ]
    return Continuity(bookmark, view.latest_committed, worst_first(findings))


def _query_id(bookmark: Bookmark, view: CheckpointView) -> Iterator[Finding]:
    """CKPT301: sinks that know a query by its id take it for another one."""
    if bookmark.query_id is not None and view.query_id != bookmark.query_id:
        yield an_error(
            "CKPT301",
            f"the query id was {bookmark.query_id} and is now {view.query_id or 'missing'}",
            name=layout.METADATA,
            hint="Restore the file metadata from a backup before the query runs again.",
            commands=(RESTORE_COMMAND,),
        )


def _history(bookmark: Bookmark, view: CheckpointView) -> Iterator[Finding]:
    """CKPT302: the last committed batch must still be there, and end where it ended."""
    last = bookmark.batch_id
    if last is None:
        return
    name = layout.offset_entry(last)
    if view.latest_committed is None or view.latest_committed < last:
        newest = "none" if view.latest_committed is None else view.latest_committed
        message = f"batch {last} was committed, but the newest committed batch is now {newest}"
        yield an_error(
            "CKPT302", message, last, hint="If the query was rolled back to an earlier batch, take a new bookmark."
        )
    elif last not in view.planned:
        yield _missing(last, view, name)
    elif rewritten := _rewritten(bookmark, view.offset_seq(last)):
        yield an_error("CKPT302", rewritten, last, name, "Else find out who has written to the checkpoint.")


def _rewritten(bookmark: Bookmark, entry: OffsetSeq) -> str | None:
    """Differences of the present entry of the bookmark's batch."""
    offsets, batch_id = offsets_of(entry), bookmark.batch_id
    watermark_ms = entry.metadata.batch_watermark_ms if entry.metadata else None
    if offsets != dict(bookmark.offsets):
        return f"batch {batch_id} ended at {_shown(bookmark.offsets)} before, and now ends at {_shown(offsets)}"
    if watermark_ms != bookmark.watermark_ms:
        before, now = _watermark(bookmark.watermark_ms), _watermark(watermark_ms)
        return f"batch {batch_id} ran with the watermark {before} before, and its entry now says {now}"
    return None


def _watermark(watermark_ms: int | None) -> str:
    return "none" if watermark_ms is None else time_text(watermark_ms)


def _missing(last: int, view: CheckpointView, name: str) -> Finding:
    if view.planned and view.planned[0] < last:
        return an_error("CKPT302", f"the offset entry of batch {last} was removed", last, name)
    return a_warning(
        "CKPT302",
        f"Spark has purged the entry of batch {last}, so it cannot be checked that the next batch continued from there",
        last,
        name,
        "Run the check sooner after the restart, or let Spark retain more batches "
        "(spark.sql.streaming.minBatchesToRetain).",
    )


def _batch_in_flight(bookmark: Bookmark, view: CheckpointView) -> Iterator[Finding]:
    """CKPT302: a batch in flight is run again with the offsets it was planned with, unless a rollback dropped it."""
    batch_id = bookmark.in_flight
    if batch_id is None or not _was_read(view, batch_id):
        return
    offsets = offsets_of(view.offset_seq(batch_id))
    if offsets != dict(bookmark.in_flight_offsets):
        yield a_warning(
            "CKPT302",
            f"batch {batch_id} was in flight up to {_shown(bookmark.in_flight_offsets)}, and was planned again up "
            f"to {_shown(offsets)}",
            batch_id,
            layout.offset_entry(batch_id),
            "This is normal right after a rollback that dropped the batch. Check whether the sink has some of its "
            "rows.",
        )


def _sources(bookmark: Bookmark, view: CheckpointView, source_types: Mapping[str, str]) -> Iterator[Finding]:
    """CKPT303: from entry to entry, every source must be there and must not be further back."""
    before = None if bookmark.batch_id is None else bookmark.offsets
    for batch_id in view.planned:
        if batch_id == bookmark.next_batch or (batch_id > bookmark.next_batch and _was_read(view, batch_id)):
            entry = view.offset_seq(batch_id)
            if before is not None:
                yield from _Step(before, batch_id, entry, source_types).findings()
            before = offsets_of(entry)


@dataclass(frozen=True, slots=True)
class _Step:
    """From the end of one batch to the end of a later one."""

    before: Offsets
    batch_id: int
    entry: OffsetSeq
    source_types: Mapping[str, str]

    def findings(self) -> Iterator[Finding]:
        """Findings on each source on the way."""
        after = offsets_of(self.entry)
        gone, new = sorted(self.before.keys() - after.keys()), sorted(after.keys() - self.before.keys())
        yield from self._renamed(gone, new)
        for source_id, start in self.before.items():
            end = after.get(source_id)
            if source_id in gone or start is None or start == end:
                continue
            if end is None:
                yield self._finding("error", f"source {source_id} has lost its offset and is read again")
            elif kind := source_kind(self.entry, source_id, self.source_types):
                yield from self._moved(source_id, kind, start, end)

    def _renamed(self, gone: list[str], new: list[str]) -> Iterator[Finding]:
        """Spark starts a source that the log does not know from scratch."""
        for source_id in new:
            was = f", and {', '.join(gone)} is no longer there" if gone else ""
            hint = "Give the source the name that it had." if gone else ""
            yield self._finding(
                "error" if gone else "note", f"source {source_id} is read from its beginning{was}", hint
            )
        for source_id in gone:
            yield self._finding("warning", f"source {source_id} is no longer there: nothing is read from it")

    def _moved(self, source_id: str, kind: str, before: str, after: str) -> Iterator[Finding]:
        name = layout.offset_entry(self.batch_id)
        start, end = SourceOffset(before).view(kind, name), SourceOffset(after).view(kind, name)
        if not start.kind.ordered:
            return
        try:
            orders = end.compare(start)
        except ValueError as problem:
            yield self._finding("error", f"source {source_id} now reads other data: {problem}")
            return
        was, now = start.positions, end.positions
        back = [at for at, order in orders.items() if order in (Order.BEFORE, Order.PARTLY) and now[at] < was[at]]
        gone = [at for at, order in orders.items() if order is Order.THERE_ALONE and not end.kind.ends_partitions]
        if back:
            hint = "The rows after that are read again: check the sink for duplicates."
            steps = listed_shortly(
                [f"{partition} from {_at(was[partition])} to {_at(now[partition])}" for partition in back]
            )
            yield self._finding("error", f"the offsets of source {source_id} went back: {steps}", hint)
        if gone:
            yield self._finding("warning", f"source {source_id} no longer reads {listed_shortly(gone)}")

    def _finding(self, severity: Severity, message: str, hint: str = "") -> Finding:
        return Finding("CKPT303", severity, message, self.batch_id, layout.offset_entry(self.batch_id), hint or None)


def _jump(bookmark: Bookmark, view: CheckpointView) -> Iterator[Finding]:
    """CKPT304: the first batch after the bookmark is the next one; async progress tracking leaves gaps everywhere."""
    last, planned = bookmark.batch_id, view.planned
    first = next((batch for batch in planned if batch >= bookmark.next_batch), None)
    if last not in planned or first is None or first == bookmark.next_batch:
        return
    elsewhere = any(after - before > 1 for before, after in pairwise(planned) if after != first)
    yield Finding(
        "CKPT304",
        "note" if elsewhere else "error",
        f"the batch after batch {last} is batch {first}",
        first,
        layout.offset_entry(first),
        "This is normal with async progress tracking." if elsewhere else "Else find out what wrote the entry.",
    )


def _never_committed(bookmark: Bookmark, view: CheckpointView) -> Iterator[Finding]:
    """CKPT304: a batch that was planned and passed over is not run again."""
    committed = view.committed
    newest = max(committed, default=-1)
    for batch_id in view.planned:
        if max(bookmark.next_batch, min(committed, default=0)) <= batch_id < newest and batch_id not in committed:
            yield an_error(
                "CKPT304",
                f"batch {batch_id} was planned and never committed, but the later batch {newest} was",
                batch_id,
                layout.commit_entry(batch_id),
                f"If the sink does not have the batch, roll back to batch {batch_id - 1}.",
            )


def _was_read(view: CheckpointView, batch_id: int) -> bool:
    name = layout.offset_entry(batch_id)
    return name in view.entries or name in view.damaged


def _shown(offsets: Offsets) -> str:
    return abbreviate(", ".join(f"{source_id}: {text or '-'}" for source_id, text in offsets.items()) or "nothing")


def _at(position: tuple[int, ...]) -> str:
    return "/".join(map(str, position))
