"""Rules about batches that the offset log does not have, and entries that are copies of others."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_ckpt.checkpoint.seeded import seeded_batch
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding, a_note, a_warning, an_error
from airflow_provider_ckpt.checks.logs import entry_before, entry_of, newest_entry
from airflow_provider_ckpt.checks.registry import rule
from airflow_provider_ckpt.checks.remedies import Remedy, from_backup_or_before, or_salvage
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.untrusted.spans import missing_spans, spans_text

#: What Spark stops with where the entry before the newest one is missing, and that one is planned, or committed.
MISSING_BEFORE_PLANNED, MISSING_BEFORE_COMMITTED = "IllegalArgumentException", "IllegalStateException"


@rule("CKPT106")
def repeated_entry(view: CheckpointView) -> Iterator[Finding]:
    """CKPT106: the newest entry is a copy of the one before it: every batch has a time of its own, but for a seed's."""
    newest, before = newest_entry(view), entry_before(view)
    if newest is None or before is None or newest.encode() != before.encode() or stray_copy(view) is not None:
        return
    if seeded_batch(view) == view.latest_planned:
        return
    yield a_warning(
        "CKPT106",
        f"offsets/{view.latest_planned} is a copy of the entry before it, so the input of batch "
        f"{view.latest_planned} is read again",
        view.latest_planned,
        layout.offset_entry(view.latest_planned or 0),
        **from_backup_or_before(view, "the entry", view.latest_planned),
    )


@rule("CKPT110")
def missing_predecessor(view: CheckpointView) -> Iterator[Finding]:
    """CKPT110: Spark reads the newest two offset entries and stops when the older one is not there."""
    newest = view.latest_planned
    if newest is None:
        return
    before = view.predecessor(newest)
    if before is not None and before not in view.planned:
        yield an_error(
            "CKPT110",
            f"offsets/{before} is missing, and Spark needs it beside offsets/{newest}",
            newest,
            layout.offset_entry(before),
            spark_error=MISSING_BEFORE_PLANNED if view.in_flight is not None else MISSING_BEFORE_COMMITTED,
            **from_backup_or_before(view, "it", newest),
        )


@rule("CKPT111")
def gaps(view: CheckpointView) -> Iterator[Finding]:
    """CKPT111: batches missing in between; normal with async progress tracking, harmless elsewhere."""
    planned = view.planned
    skipped = missing_spans(planned, planned[0], planned[-1]) if planned else ()
    if skipped:
        several = "es" if len(skipped) > 1 or skipped[0].count > 1 else ""
        yield a_note(
            "CKPT111",
            f"the offset log does not have batch{several} {spans_text(skipped)}",
            hint=_HINT_OF_GAPS if stray_copy(view) is None else "The stray copy of an entry makes the gap (CKPT146).",
        )


_HINT_OF_GAPS = (
    "This is normal with async progress tracking. A query that has skipped the batch before its newest one restarts "
    "only in that mode."
)


def stray_copy(view: CheckpointView) -> int | None:
    """The batch of which the newest entry is a copy, while the one before the newest is missing; None for no copy.

    Every batch has a time of its own, except a repartition, which follows right on the batch that has the same.
    """
    number, newest = view.latest_planned, newest_entry(view)
    if number is None or newest is None or number - 1 in view.planned or number == 0:
        return None
    for batch_id in reversed(view.planned[:-1]):
        entry = entry_of(view, batch_id)
        if entry is not None and _is_copy(newest, entry):
            return batch_id
    return None


def _is_copy(entry: OffsetSeq, earlier: OffsetSeq) -> bool:
    if entry.metadata is None or earlier.metadata is None:
        return entry.encode() == earlier.encode()
    time_ms = entry.metadata.batch_timestamp_ms
    return (time_ms > 0 and time_ms == earlier.metadata.batch_timestamp_ms) or entry.encode() == earlier.encode()


@rule("CKPT146")
def stray_entry(view: CheckpointView) -> Iterator[Finding]:
    """CKPT146: an older entry under the number of a batch that never was, as a tool that copies files leaves it."""
    number, of = view.latest_planned, stray_copy(view)
    if number is None or of is None:
        return
    name, run = layout.offset_entry(number), view.in_flight is not None
    yield an_error(
        "CKPT146",
        f"{name} is a stray copy of offsets/{of}: it has the time of batch {of}, and offsets/{number - 1} is missing, "
        "which Spark reads beside it",
        number,
        name,
        spark_error=MISSING_BEFORE_PLANNED if run else MISSING_BEFORE_COMMITTED,
        **_take_out(view, name, number),
    )


def _take_out(view: CheckpointView, name: str, number: int) -> Remedy:
    """Remedy for a stray copy; salvage keeps a batch that is committed, so a copy of a commit is removed by hand."""
    never = "Async progress tracking would accept the gap and leave the copy."
    if view.in_flight is None:
        commit = layout.commit_entry(number)
        return Remedy(hint=f"Move {name} and {commit} out of the checkpoint. {never}", commands=())
    commands = or_salvage(view, Remedy(hint="", commands=()))["commands"]
    return Remedy(hint=f"ckpt salvage takes the copy out. {never}", commands=commands)
