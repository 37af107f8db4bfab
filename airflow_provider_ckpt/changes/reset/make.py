"""Making the plans of resets: observe, refuse, find where the source goes, and find what was begun before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from shlex import quote

from airflow_provider_ckpt.change.fit_sink import require_fit
from airflow_provider_ckpt.change.judge_start import judge_start
from airflow_provider_ckpt.change.lock import lock_warnings
from airflow_provider_ckpt.change.open_sinks import sink_of
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.change.record.resume import Said, find_interrupted
from airflow_provider_ckpt.changes.fence.make import required_fence
from airflow_provider_ckpt.changes.reset.plan import late_before, moves_of, plan_reset
from airflow_provider_ckpt.checkpoint.find_flows import refuse_replaced
from airflow_provider_ckpt.checkpoint.observe import observe, refuse_closed, refuse_links
from airflow_provider_ckpt.checkpoint.read_unmoved import read_unmoved
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.source_kinds import KINDS
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointFormatError, PlanError, located
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.restart.real_time import REAL_TIME, trigger_of
from airflow_provider_ckpt.sinks.change_effects import reset_effects
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.sinks.read_marker import read_marker
from airflow_provider_ckpt.sources.kafka.extent import offsets_of
from airflow_provider_ckpt.sources.kafka.kafka_csv import write_csv
from airflow_provider_ckpt.sources.move import UNKNOWN_PART, Aim, Counted, Move
from airflow_provider_ckpt.untrusted.fields import require_flag


def make_reset(
    stores: Stores,
    source_id: str,
    aim: Aim,
    *,
    sink: Sink | None = None,
    state_sees_rows_again: bool = False,
    trigger: str | None = None,
    fenced: bool = False,
    asks_anew: Callable[[str], bool] = lambda by: False,
) -> Plan:
    """Plan to move one source, or find the plan of the same reset that was killed.

    Args:
        stores: Where.
        source_id: Which source: its position in the query, or its name.
        aim: Where to.
        sink: The sink of the query; a file sink when ``stores.sink`` is given and nothing else is said.
        state_sees_rows_again: The user's word that a query with state may read again what its state has counted.
        trigger: The trigger of the query as a deploy file says it; ``realTime`` changes what is sure of the sink.
        fenced: Require the fence that is there (``ckpt fence``) in place of the word that the query is stopped.
        asks_anew: Whether who asks now is another one than who has made a change, as its record says it, and so wants
            the same relative move once more.

    Raises:
        PlanError: It is refused; the error says why.
        CheckpointMovedError: The query is running, and removes what was just listed.
        StoreError: What the source reads from cannot be asked, or is not what the query reads.
    """
    require_flag("state_sees_rows_again", state_sees_rows_again)
    require_flag("fenced", fenced)
    asked = _Asked(source_id, aim)
    if (begun := find_interrupted(stores, "reset", asked.is_by, Said(sink, trigger))) is not None:
        return begun
    return read_unmoved(
        lambda: _fresh_reset(
            stores, asked, sink, trigger, asks_anew, again_is_fine=state_sees_rows_again, fenced=fenced
        ),
        stores.checkpoint,
        stores.sink,
    )


def _fresh_reset(
    stores: Stores,
    asked: _Asked,
    sink: Sink | None,
    trigger: str | None,
    asks_anew: Callable[[str], bool],
    *,
    again_is_fine: bool,
    fenced: bool,
) -> Plan:
    source_id, aim = asked.source_id, asked.aim
    view, batch_id = _observed(stores)
    if aim.is_relative and (done := _done_before(stores, view, asked, asks_anew)) is not None:
        return done
    initials = _initials(stores, view)
    initial = SourceOffset(initials[source_id].decode(errors="replace")) if source_id in initials else None
    committed, planned, warnings = _offsets_of(view, batch_id, source_id)
    with located(view.location):
        move = aim.move(source_id, committed, planned, initial)
    move = replace(move, warnings=(*warnings, *move.warnings), notes=(asked.text, *move.notes))
    if view.stateful and (again := move.again or move.perhaps) and not again_is_fine:
        late = late_before(view)
        but = f", but for rows that are before its watermark ({late}), which it would drop as late" if late else ""
        raise PlanError(
            f"the query has state, which a reset does not move: it would count {again} a second time{but}.",
            location=view.location,
            batch_id=batch_id,
            hint="Nothing was done. A rollback takes the state and the watermark back as well (ckpt rollback). To move "
            "the source all the same, add --state-will-see-rows-again (in a DAG: state_will_see_rows_again=True).",
        )
    trigger = trigger_of(trigger, view.operator_names)
    plan = _plan(stores, view, [move], sink, initials, trigger, fenced=fenced)
    otherwise = f"Start the query, let it commit batch {view.in_flight} and stop it; then run the same command again."
    return judge_start(
        replace(plan, asked=asked.digest),
        view,
        stores.checkpoint,
        hint=otherwise if view.in_flight is not None else "",
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """What somebody has asked for: which source goes where."""

    source_id: str
    aim: Aim

    @property
    def text(self) -> str:
        """In words."""
        return f"Source {self.source_id} goes to {self.aim.text}."

    @property
    def digest(self) -> str:
        """What a plan keeps of it."""
        return hashlib.sha256(json.dumps([self.source_id, self.aim.key]).encode()).hexdigest()[:16]

    def is_by(self, plan: Plan) -> bool:
        """Whether a plan does that. One of an earlier version says so in its first note alone."""
        return plan.asked == self.digest if plan.asked else plan.notes[:1] == (self.text,)


def _declared(stores: Stores, sink: Sink | None) -> Sink:
    """The sink that was said, a file sink when there is only its place; of no kind when nothing was said."""
    return sink or (Sink("file", stores.sink.location) if stores.sink else Sink(""))


def _done_before(stores: Stores, view: CheckpointView, asked: _Asked, asks_anew: Callable[[str], bool]) -> Plan | None:
    """The same reset, carried out: who runs the command again, because nobody saw it end, does not want to go further.

    None once the query has run since, and for another one who asks.
    """
    done = [change for change in history(stores.checkpoint, stores.undo) if change.state == "applied"]
    if not done or done[-1].plan.kind != "reset" or not asked.is_by(done[-1].plan) or asks_anew(done[-1].by):
        return None
    plan = done[-1].plan
    return plan if view.latest_planned == plan.batch_id and not moves_of(plan, view) else None


def export_positions(stores: Stores, source_id: str, aim: Aim) -> str:
    """Where a reset would move a source, in the CSV of ``kafka-consumer-groups``. Raises as :func:`make_reset`."""
    view, batch_id = _observed(stores)
    committed, planned, _ = _offsets_of(view, batch_id, source_id)
    with located(view.location):
        move = aim.move(source_id, committed, planned)
    if move.kind != "kafka":
        problem = f"source {source_id} is a {move.kind} source, whose position is none of Kafka's CSV."
        raise PlanError(problem, location=view.location, hint="Nothing was done. Leave out --export.")
    return write_csv(offsets_of(move.new))


def make_reset_again(plan: Plan, stores: Stores) -> Plan:
    """The reset to the same offsets that would be planned now in the place of one that was not begun yet.

    What the sources hold is not asked again. Raises PlanError.
    """
    view, _ = _observed(stores)
    moves, initials = moves_of(plan, view), _initials(stores, view)
    fenced = plan.fence is not None
    plans = (
        _plan(stores, view, counted, sink_of(plan), initials, plan.trigger, fenced=fenced)
        for counted in _countings(moves)
    )
    first, effects = next(plans), [item.effect for item in plan.effects]
    same = (again for again in chain([first], plans) if [item.effect for item in again.effects] == effects)
    return replace(next(same, first), asked=plan.asked)


def _countings(moves: Sequence[Move]) -> list[list[Move]]:
    """The moves, with each count that sources may have made whose offsets do not tell what lies between them.

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


def _plan(
    stores: Stores,
    view: CheckpointView,
    moves: Sequence[Move],
    sink: Sink | None,
    initials: Mapping[str, bytes],
    trigger: str,
    *,
    fenced: bool,
) -> Plan:
    fence = required_fence(stores) if fenced else None
    effects = _judge_sink(stores, view, moves, sink, real_time=trigger == REAL_TIME, fenced=fenced)
    plan = plan_reset(view, moves, now_ms(), effects, initials, fence)
    return replace(plan, trigger=trigger, warnings=(*plan.warnings, *lock_warnings(stores.checkpoint)))


def _initials(stores: Stores, view: CheckpointView) -> dict[str, bytes]:
    """The initial offsets of the sources that keep one in a file of its own (Iceberg), by source id."""
    return {
        place.source_id: stores.checkpoint.read(name)
        for name in view.objects
        if isinstance(place := layout.parse(name), layout.InitialOffsetFile)
    }


def _observed(stores: Stores) -> tuple[CheckpointView, int]:
    """The whole checkpoint, and its newest committed batch. Raises PlanError when no source of it can be moved."""
    view = observe(stores.checkpoint, deep=True)
    if view.in_flight is not None and view.latest_committed is not None:  # the entries without that batch are needed
        view = observe(stores.checkpoint, deep=True, batch_id=view.latest_committed)
    refuse_replaced(stores.checkpoint)
    refuse_links(view)
    refuse_closed(view)
    if view.latest_committed is None:
        raise PlanError(
            "no batch is committed, so there is no position to move.",
            location=view.location,
            hint="Nothing was done. Remove the checkpoint, and start the query with the option startingOffsets.",
        )
    if view.unfinished_repartition is not None:
        raise PlanError(
            f"batch {view.in_flight} is a repartition that was not finished.",
            location=view.location,
            batch_id=view.in_flight,
            hint="Nothing was done. Finish it (ckpt repartition), or take it back (ckpt undo).",
        )
    if (name := layout.offset_entry(view.latest_committed)) not in view.objects:
        raise PlanError(
            "the offset entry of the newest committed batch is missing, so there is no position to move.",
            location=view.location,
            name=name,
            batch_id=view.latest_committed,
            hint="Nothing was done. If the query is running, stop it and run the command again. Else take the entry "
            f"from a backup (ckpt rollback {quote(view.location)} --to-backup ROOT/ID), or roll back to an earlier "
            "batch.",
        )
    return view, view.latest_committed


def _offsets_of(
    view: CheckpointView, batch_id: int, source_id: str
) -> tuple[SourceOffset, SourceOffset | None, tuple[str, ...]]:
    """The committed offset of a source, that of the batch in flight, and warnings when that cannot be read."""
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


def _judge_sink(
    stores: Stores,
    view: CheckpointView,
    moves: Sequence[Move],
    sink: Sink | None,
    *,
    real_time: bool,
    fenced: bool,
) -> tuple[SinkEffect, ...]:
    """What becomes of the sink."""
    declared = _declared(stores, sink)
    store, batch_id = stores.sink if declared.directory else None, view.latest_committed or 0
    marker = read_marker(declared, store, view.query_id, batch_id)
    require_fit(stores.checkpoint, stores.undo, view, declared, store, marker)
    again, left_out, perhaps = (" and ".join(filter(None, texts)) for texts in _texts(moves))
    effects = reset_effects(
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
    return tuple(replace(effect, sink=declared.at(store).name) for effect in effects)


def _texts(moves: Sequence[Move]) -> tuple[list[str], list[str], list[str]]:
    """What is read again, what is left out, and what is perhaps read again, source by source."""
    return [move.again for move in moves], [move.left_out for move in moves], [move.perhaps for move in moves]
