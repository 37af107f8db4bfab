"""Effect of a change of sources on the sink: none, unless a batch is in flight that then has other rows."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_ckpt.changes.sources.source_change import SourceChange
from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.remedies import listed
from airflow_provider_ckpt.query.sink import MARKING
from airflow_provider_ckpt.sinks.change_effects import in_real_time
from airflow_provider_ckpt.sinks.effects import SinkEffect

_REMEDY = (
    "If the query can commit batch {batch}, start it as it was, stop it after that batch, and plan the change again."
)


def effect_of(view: CheckpointView, change: SourceChange, marker: SinkMarker, *, real_time: bool = False) -> SinkEffect:
    """The effect.

    Args:
        view: The checkpoint, with the entries that a restart reads.
        change: The source that each new source continues.
        marker: Memory of the sink.
        real_time: True if the query runs in real-time mode.
    """
    batch = view.in_flight
    if batch is None:
        exact = SinkEffect(marker.name, "exact", "no batch runs again, and each source goes on from where it was")
        return in_real_time(exact, marker) if real_time else exact
    reading = _reading(view, batch)
    has_it = marker.kind in MARKING and marker.last_batch is not None and marker.last_batch >= batch
    if (gone := [old for old in change.dropped if old in reading]) and not has_it:
        why = f"batch {batch}, which is in flight, runs again without the rows of source {listed(gone)}"
        return SinkEffect(marker.name, "skipped", why, _REMEDY.format(batch=batch))
    if again := [old for old in change.copied if old in reading]:
        return _of_copies(marker, batch, again, has_it=has_it)
    exact = SinkEffect(marker.name, "exact", f"batch {batch}, which is in flight, runs again with the rows that it had")
    return in_real_time(exact, marker) if real_time else exact


def _of_copies(marker: SinkMarker, batch: int, again: Sequence[str], *, has_it: bool) -> SinkEffect:
    rows = f"the rows of source {listed(again)} of batch {batch}, which is in flight"
    if has_it:
        why = f"it has batch {batch} already and skips it: {rows}, do not come for each of the new readers"
        return SinkEffect(marker.name, "skipped", why, _REMEDY.format(batch=batch))
    if marker.kind in MARKING:
        return SinkEffect(marker.name, "exact", f"it does not have batch {batch}, which runs again for each new reader")
    why = f"it may have {rows}; they come again for each of the new readers"
    return SinkEffect(marker.name, "unknown", why, _REMEDY.format(batch=batch))


def _reading(view: CheckpointView, batch: int) -> set[str]:
    """The sources from which a planned batch reads something, as far as its offsets tell."""
    before = view.readable_offset_seq(view.predecessor(batch))
    began = {} if before is None else dict(before.offsets)
    return {
        source
        for source, offset in view.offset_seq(batch).offsets
        if offset is not None and began.get(source) != offset
    }
