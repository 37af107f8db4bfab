"""The plan of a reset: the batch in flight is dropped, and the newest committed offset entry gets other offsets.

The order is that of every change: the batch in flight goes as in a rollback, then the checksum files of the entry, and
at last the one object that counts is given its new content. Until then the query would go on from where it was, and
from then on it begins batch N+1 at the new offsets: there is no state in between. Behind a fence, which is entry N+1,
both entries get the new offsets while the checkpoint is closed, and the fence stays. The entry keeps its confs, times
and the offsets of all other sources.

A Delta source gets its new offset in the entry before as well, and there first: when a query starts, Spark asks such a
source for the newest committed batch once more (``MicroBatchExecution.populateStartOffsets``), and Delta stops at any
version in that range that it cannot read. Between two equal offsets there is none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product

from airflow_provider_ckpt.change.plan.actions import Action, Replace
from airflow_provider_ckpt.change.plan.fenced import closed, with_fence
from airflow_provider_ckpt.change.plan.later_batches import deletes_of, peel, requirements_of, source_deletes
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.plan.requirements import Fenced
from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout, offset_log
from airflow_provider_ckpt.codec.commit_log import CommitMetadata
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_kinds import KINDS
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointFormatError, PlanError
from airflow_provider_ckpt.sinks.change_effects import reset_effects
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.sources.move import UNKNOWN_PART, Counted, Move, kind_of
from airflow_provider_ckpt.times import time_text


def plan_reset(
    view: CheckpointView,
    moves: Sequence[Move],
    planned_at_ms: int,
    effects: tuple[SinkEffect, ...] = (),
    initials: Mapping[str, bytes] = {},
    fence: Fenced | None = None,
) -> Plan:
    """Move sources.

    Args:
        view: The whole checkpoint; a batch is committed, and its offset entry was read.
        moves: Where each source goes that is moved.
        planned_at_ms: Now, epoch milliseconds.
        effects: Effect on the sink.
        initials: The initial offsets of sources that keep one in ``sources/N/offsets/0``, as they are, by source id.
        fence: The batch in flight is that of this fence: it stays, and gets the new offsets as well.
    """
    batch_id = view.latest_committed
    assert batch_id is not None
    actions: list[Action] = [] if fence else [*peel(view, batch_id, {}, None)]
    if view.in_flight is not None and not fence:
        actions += source_deletes(view, batch_id)
    for move in moves:
        if move.initial is not None:
            name = layout.initial_offset_file(move.source_id)
            actions += _replacing(view, name, initials[move.source_id], move.initial.json)
    asked_again = [move for move in moves if move.kind == "delta" and batch_id - 1 in view.planned]
    if asked_again:
        before = view.offset_seq(batch_id - 1)
        others = [move for move in asked_again if before.offset(move.source_id) != move.new]
        actions += _replaced(view, batch_id - 1, {move.source_id: move.new for move in others})
    wanted = {move.source_id: move.new for move in moves if not move.is_still}
    actions += _replaced(view, batch_id, wanted)
    if fence:
        actions += _replaced(view, fence.batch_id, wanted)
    plan = Plan(
        kind="reset",
        location=view.location,
        query_id=view.query_id or "",
        batch_id=batch_id,
        planned_at_ms=planned_at_ms,
        requirements=tuple(requirements_of(view, actions, None)),
        actions=tuple(actions),
        warnings=(*_warnings(view, batch_id, moves, fence), *(text for move in moves for text in move.warnings)),
        effects=effects,
        notes=tuple(text for move in moves for text in move.notes),
    )
    return closed(with_fence(plan, fence), fence) if fence and actions else plan


def _replaced(view: CheckpointView, batch_id: int, offsets: Mapping[str, SourceOffset]) -> list[Action]:
    """The steps that give the entry of a batch other offsets; its checksum files would not fit it any more."""
    if not offsets:
        return []
    entry = view.offset_seq(batch_id)
    return _replacing(view, layout.offset_entry(batch_id), entry.encode(), entry_with(entry, offsets).encode().decode())


def _replacing(view: CheckpointView, name: str, before: bytes, after: str) -> list[Action]:
    """The steps that give an object another content; its checksum files would not fit it any more."""
    stored = view.objects[name]
    sidecars = [action for action in deletes_of(view.objects, [name]) if action.name != name]
    content = hashlib.sha256(before).hexdigest()
    return [*sidecars, Replace(name, "checkpoint", stored.size, stored.identity, content, after)]


def entry_with(entry: OffsetSeq, offsets: Mapping[str, SourceOffset]) -> OffsetSeq:
    """An offset entry with other offsets of some sources, and all else as it is."""
    changed = tuple((source_id, offsets.get(source_id, offset)) for source_id, offset in entry.offsets)
    return replace(entry, offsets=changed)


def moves_of(plan: Plan, view: CheckpointView) -> list[Move]:
    """Moves of a plan in a checkpoint, read from its steps.

    Raises:
        PlanError: It gives an entry content that is not an offset entry, or offsets that no reset gives.
    """
    steps = {action.name: action for action in plan.actions if isinstance(action, Replace)}
    initials = {
        place.source_id: SourceOffset(step.data)
        for name, step in steps.items()
        if isinstance(place := layout.parse(name), layout.InitialOffsetFile)
    }
    entry = view.offset_seq(plan.batch_id)
    wanted = _changed(entry, steps.get(layout.offset_entry(plan.batch_id)))
    before = steps.get(layout.offset_entry(plan.batch_id - 1))
    asked_again = _changed(view.offset_seq(plan.batch_id - 1), before) if before is not None else {}
    moves = []
    for source_id, old in entry.offsets:
        new, initial = wanted.get(source_id, old), initials.pop(source_id, None)
        is_asked_again = source_id in asked_again
        if new == old and initial is None and not is_asked_again:
            continue
        kind = kind_of(new) if new is not None else None
        if old is None or new is None or kind is None or kind_of(old) != kind or asked_again.pop(source_id, new) != new:
            raise PlanError(f"not a plan: it gives source {source_id} an offset that no reset gives it.")
        if initial is not None and (kind != "iceberg" or kind_of(initial) != kind):
            raise PlanError(f"not a plan: it gives source {source_id} an initial offset that no reset gives it.")
        moves.append(Move(source_id, kind, old, new, initial=initial))
    if unknown := {**initials, **asked_again}:
        raise PlanError(f"not a plan: the query has no source {min(unknown)}, to which it gives an offset.")
    return moves


def _changed(entry: OffsetSeq, step: Replace | None) -> dict[str, SourceOffset | None]:
    """The offsets that a step gives an entry in the place of others. Raises PlanError."""
    if step is None:
        return {}
    try:
        wanted = offset_log.decode(step.data.encode(), step.name)
    except CheckpointFormatError as error:
        raise PlanError(f"not a plan: it replaces {step.name} by no offset entry ({error.message})") from None
    return {source_id: new for source_id, new in wanted.offsets if new != entry.offset(source_id)}


def late_before(view: CheckpointView) -> str:
    """The watermark with which a query with state goes on after a reset, in words; empty without one.

    Spark takes the greater one of the two logs (``MicroBatchExecution.populateStartOffsets``).
    """
    commit = view.entries.get(layout.commit_entry(view.latest_committed or 0))
    coming_ms = commit.next_batch_watermark_ms if isinstance(commit, CommitMetadata) else 0
    watermark_ms = max(view.watermark_ms or 0, coming_ms)
    return time_text(watermark_ms) if view.stateful and watermark_ms > 0 else ""


def _warnings(view: CheckpointView, batch_id: int, moves: Iterable[Move], fence: Fenced | None) -> Iterable[str]:
    if view.in_flight is not None and not fence:
        yield f"Batch {view.in_flight} is in flight (planned, not committed); it is dropped first."
    for move in (move for move in moves if not move.is_still):
        yield (
            f"After the reset {layout.offset_entry(batch_id)} does not say any more what batch {batch_id} has read of "
            f"source {move.source_id}; what it said is kept in the record of the change."
        )
        if view.stateful and (again := move.again or move.perhaps):
            late = late_before(view)
            but = f", but for rows that are before the watermark ({late}), which are dropped as late" if late else ""
            yield f"The state of the query is not moved: it counts {again} a second time{but}."
        if view.stateful and move.left_out:
            yield f"The state of the query is not moved: it never gets {move.left_out}."


def countings(moves: Sequence[Move]) -> list[list[Move]]:
    """The moves, once for each count that their sources can have made, where offsets do not tell what lies between.

    The offsets of a plan are taken as they are, and so is what was counted between them when they were found.
    """
    part = UNKNOWN_PART.again
    if [move.kind for move in moves if move.again] == ["kafka"]:  # its topic may have been created again
        alike = [Counted(again, left_out, part) for again, left_out in product((part, ""), repeat=2)]
        return [
            list(moves),
            *([replace(move, counted=counted) if move.again else move for move in moves] for counted in alike),
        ]
    counts = (UNKNOWN_PART, Counted(), Counted(again=part), Counted(left_out=part))
    if [move.kind for move in moves] == ["delta"]:  # what a RESTORE has reverted is not left out
        return [list(moves), [replace(move, counted=Counted()) for move in moves]]
    if all(KINDS[move.kind].ordered for move in moves):
        return [list(moves)]
    return [
        [move if KINDS[move.kind].ordered else replace(move, counted=counted) for move in moves] for counted in counts
    ]


def refuse_again(view: CheckpointView, move: Move) -> None:
    """Raise PlanError where a query with state would count records a second time."""
    if again := move.again or move.perhaps:
        late = late_before(view)
        but = f", but for rows that are before its watermark ({late}), which it would drop as late" if late else ""
        raise PlanError(
            f"the query has state, which a reset does not move: it would count {again} a second time{but}.",
            location=view.location,
            batch_id=view.latest_committed,
            hint="Nothing was done. A rollback takes the state and the watermark back as well (ckpt rollback). To move "
            "the source all the same, add --state-will-see-rows-again (in a DAG: state_will_see_rows_again=True).",
        )


def positions_of(view: CheckpointView, source_id: str) -> tuple[SourceOffset, SourceOffset | None, tuple[str, ...]]:
    """The committed offset of a source, that of the batch in flight, and warnings when that cannot be read."""
    batch_id = view.latest_committed or 0
    entry = view.offset_seq(batch_id)
    ids = [known for known, _ in entry.offsets]
    offset = entry.offset(source_id)
    if offset is None:
        problem = "has no offset yet" if source_id in ids else "does not exist"
        raise PlanError(
            f"source {source_id!r:.60} {problem} in batch {batch_id}; the sources of the query are {', '.join(ids)}.",
            location=view.location,
            name=layout.offset_entry(batch_id),
            batch_id=batch_id,
            hint="Nothing was done.",
        )
    if view.in_flight is None:
        return offset, None, ()
    try:
        return offset, view.offset_seq(view.in_flight).offset(source_id), ()
    except CheckpointFormatError as error:  # it goes in any case
        name = layout.offset_entry(view.in_flight)
        return (
            offset,
            None,
            (
                f"{name} cannot be read ({error.message}): where batch {view.in_flight} goes to is not known, so it "
                "was not judged by it whether what the source reads was created again.",
            ),
        )


def effects_of(
    view: CheckpointView, marker: SinkMarker, moves: Sequence[Move], *, real_time: bool, fenced: bool
) -> tuple[SinkEffect, ...]:
    """What becomes of the sink."""
    again = " and ".join(move.again for move in moves if move.again)
    left_out = " and ".join(move.left_out for move in moves if move.left_out)
    perhaps = " and ".join(move.perhaps for move in moves if move.perhaps)
    batch_id = view.latest_committed or 0
    return reset_effects(
        marker,
        batch_id,
        batch_id if fenced else view.latest_planned,
        again=again,
        left_out=left_out,
        perhaps=perhaps,
        late_before=late_before(view),
        real_time=real_time,
        stateful=view.stateful,
    )
