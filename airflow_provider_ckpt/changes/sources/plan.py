"""The plan of a change of sources: the offset entries that a restart reads, and what the sources keep.

Spark reads the newest two entries. Those of the newest committed batch and of the one before it are changed too when a
batch is in flight, so that a rollback or a reset can still drop that batch. No order of these steps is right at each
point, so the first one closes the checkpoint and the last one opens it again: in between every Spark refuses to start,
with one known condition. The commits, the state and older entries stay as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from airflow_provider_ckpt.change.plan.actions import Action, Close, Open, Replace
from airflow_provider_ckpt.change.plan.later_batches import deletes_of, requirements_of
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.sources.directories import Sum, leftovers, moves
from airflow_provider_ckpt.changes.sources.entries import changed_entry, ids_of, version_of
from airflow_provider_ckpt.changes.sources.source_change import SourceChange
from airflow_provider_ckpt.changes.sources.state import STATELESS, Operators
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.remedies import listed
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.commit_log import CommitMetadata
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.restart.sources import SOURCE_EVOLUTION
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.times import time_text


def batches_read(view: CheckpointView) -> tuple[int, ...]:
    """The batches whose offset entries are changed, newest first: those that a restart reads, and a rollback."""
    found: set[int] = set()
    for batch in (view.latest_planned, view.latest_committed):
        if batch is not None:
            found |= {batch, *([] if (before := view.predecessor(batch)) is None else [before])}
    return tuple(sorted(found & {*view.planned}, reverse=True))


def entries_read(view: CheckpointView) -> list[tuple[int, OffsetSeq]]:
    """Entries that a change reads, newest first. Raises CheckpointFormatError for one that is damaged."""
    return [(batch_id, view.offset_seq(batch_id)) for batch_id in batches_read(view)]


def plan_change(
    view: CheckpointView,
    change: SourceChange,
    sums: Mapping[str, Sum],
    planned_at_ms: int,
    effects: tuple[SinkEffect, ...] = (),
    operators: Operators = STATELESS,
) -> Plan:
    """Change what the sources of the next query continue.

    Args:
        view: The whole checkpoint, with the entries of :func:`batches_read`.
        change: The source that each new source continues; nothing contradicts it.
        sums: Checksums of the objects of ``directories.to_sum``.
        planned_at_ms: Now, epoch milliseconds.
        effects: Effect on the sink.
        operators: The operators with state.
    """
    entries = entries_read(view)
    going, coming = moves(view.objects, change, sums)
    inner: list[Action] = [*going, *coming]
    for batch_id, entry in reversed(entries):
        inner += _replaced(view, batch_id, entry, new_entry(entries, change, batch_id))
    closing = layout.offset_entry(entries[0][0] + 1)
    actions = [Close(closing), *inner, Open(closing)] if inner else []
    committed = view.latest_committed
    return Plan(
        kind="sources",
        location=view.location,
        query_id=view.query_id or "",
        batch_id=entries[0][0] if committed is None else committed,
        planned_at_ms=planned_at_ms,
        requirements=tuple(requirements_of(view, actions, None)),
        actions=tuple(actions),
        warnings=tuple(_warnings(view, change, entries, operators)),
        effects=effects,
        source=view.location,
        notes=(change.text,),
        asked=change.key,
    )


def new_entry(entries: Sequence[tuple[int, OffsetSeq]], change: SourceChange, batch_id: int) -> OffsetSeq:
    """The entry of one of the batches as the next query will find it."""
    name = layout.offset_entry(batch_id)
    return changed_entry(dict(entries)[batch_id], change, version_of(change, entries[0][1]), name)


def _replaced(view: CheckpointView, batch_id: int, entry: OffsetSeq, new: OffsetSeq) -> list[Action]:
    """The steps that give the entry of a batch other sources; its checksum files would not fit it any more."""
    before, after, name = entry.encode(), new.encode(), layout.offset_entry(batch_id)
    if before == after:
        return []
    stored = view.objects[name]
    sidecars = [action for action in deletes_of(view.objects, [name]) if action.name != name]
    content = hashlib.sha256(before).hexdigest()
    return [*sidecars, Replace(name, "checkpoint", stored.size, stored.identity, content, after.decode())]


def _warnings(
    view: CheckpointView, change: SourceChange, entries: Sequence[tuple[int, OffsetSeq]], operators: Operators
) -> Iterator[str]:
    yield _next_query(change)
    ids = ids_of(entry for _, entry in entries)
    if view.in_flight is not None:
        yield (
            f"Batch {view.in_flight} is in flight (planned, not committed) and stays: the query runs it again with the "
            "offsets that it has" + (f"; source {listed(change.begun)} has no rows in it" if change.begun else "") + "."
        )
    if change.dropped:
        yield f"What the query has not read yet of source {listed(change.dropped)} is never read."
    if change.begun and (extra := leftovers(view.objects, frozenset(ids)).keys() & {*change.begun}):
        yield f"What an earlier start has left for source {listed(sorted(extra))} is removed, and kept for ckpt undo."
    if operators.count:
        yield from _about_state(view, change, operators)
    if view.latest_committed:
        yield (
            f"Batches before {view.latest_committed} keep the sources that they had: to roll back to one of them, undo "
            "this change first (ckpt undo)."
        )


def _next_query(change: SourceChange) -> str:
    """Requirements on the query that is started next."""
    sources = [f"{new} (new)" if old is None else f"{new} (what {old} was)" for new, old in change.continued]
    if not change.named:
        return (
            f"Start only a query without names for its sources, with exactly {len(sources)} of them, in this order: "
            f"{', '.join(sources)}."
        )
    return (
        f"Start only a query of Spark 4.2 or later with {SOURCE_EVOLUTION}=true and sources of these names: "
        f"{', '.join(sources)}."
    )


def _about_state(view: CheckpointView, change: SourceChange, operators: Operators) -> Iterator[str]:
    yield (
        f"The state of the query stays. The next query must have the same stateful operators ({operators.text}), and "
        "each of them must do the same with the same sources."
    )
    if change.begun and (watermark_ms := _watermark_ms(view)) > 0:
        yield (
            f"The query keeps its watermark ({time_text(watermark_ms)}): operators that use it drop rows of source "
            f"{listed(change.begun)} that are before it as late."
        )


def _watermark_ms(view: CheckpointView) -> int:
    """Watermark of the next batch: Spark takes the greater one of the two logs."""
    commit = view.entries.get(layout.commit_entry(view.latest_committed or 0))
    coming_ms = commit.next_batch_watermark_ms if isinstance(commit, CommitMetadata) else 0
    return max(view.watermark_ms or 0, coming_ms)
