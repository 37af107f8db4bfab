"""Making the plans of resets: find where the source goes, and what becomes of what it reads again or leaves out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from shlex import quote
from typing import ClassVar

from airflow_provider_ckpt.change.executor import InPlace
from airflow_provider_ckpt.change.fence.find import required_fence
from airflow_provider_ckpt.change.find_repeated import repeated_warnings
from airflow_provider_ckpt.change.judge_start import judge_start
from airflow_provider_ckpt.change.make_plan import (
    Planner,
    Seen,
    find_or_make,
    observe_without_flight,
    refuse_unfinished,
)
from airflow_provider_ckpt.change.open_sinks import sink_of
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.kinds import Kind
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.journal import Record
from airflow_provider_ckpt.change.record.resume import Said
from airflow_provider_ckpt.changes.reset.plan import late_before, moves_of, plan_reset
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
        source_id: The source: its position in the query, or its name.
        aim: Where to.
        sink: The sink of the query; a file sink when ``stores.sink`` is given and nothing else is said.
        state_sees_rows_again: The user's word that a query with state may read again what its state has counted.
        trigger: The trigger of the query as a deploy file says it; ``realTime`` changes what is sure of the sink.
        fenced: Require the fence that is there (``ckpt fence``) in place of the word that the query is stopped.
        asks_anew: True if who asks now is another one than who has made a change, as its record says it, and so wants
            the same relative move once more.

    Raises:
        PlanError: It is refused; the error says why.
        CheckpointMovedError: The query is running, and removes what was just listed.
        StoreError: The place that the source reads from cannot be asked, or is not what the query reads.
    """
    require_flag("state_sees_rows_again", state_sees_rows_again)
    require_flag("fenced", fenced)
    said = Said(sink, trigger)
    return find_or_make(Reset(source_id, aim, state_sees_rows_again, asks_anew, said=said, fenced=fenced), stores)


@dataclass(frozen=True, slots=True)
class _Moving(Planner):
    """What moves sources, however it finds where to."""

    kind: ClassVar[Kind] = "reset"

    @classmethod
    def of(cls, plan: Plan, stores: Stores) -> Planner:
        """The offsets that a plan has."""
        return ResetAgain(plan, said=Said(sink_of(plan), plan.trigger), fenced=plan.fence is not None)

    def observe(self, stores: Stores) -> CheckpointView:
        """The whole checkpoint. Raises PlanError when no source of it can be moved."""
        view = observe_without_flight(stores.checkpoint)
        _refuse_unmovable(view)
        return view

    def judge(self, plan: Plan, seen: Seen) -> Plan:
        """Without the batch in flight, where a start could let that be committed."""
        batch = seen.view.in_flight
        hint = f"Start the query, let it commit batch {batch} and stop it; then run the same command again."
        return judge_start(plan, seen.view, seen.checkpoint, hint="" if batch is None else hint)

    def _plan(self, seen: Seen, moves: Sequence[Move], trigger: str) -> Plan:
        fence = required_fence(seen.stores) if self.fenced else None
        effects = _effects(seen, moves, real_time=trigger == REAL_TIME, fenced=self.fenced)
        plan = plan_reset(seen.view, moves, now_ms(), effects, _initials(seen), fence)
        return replace(plan, trigger=trigger)


@dataclass(frozen=True, slots=True)
class Reset(_Moving):
    """Which source goes where; see :func:`make_reset`."""

    source_id: str
    aim: Aim
    state_sees_rows_again: bool
    asks_anew: Callable[[str], bool]

    @property
    def text(self) -> str:
        """The operators in words."""
        return f"Source {self.source_id} goes to {self.aim.text}."

    @property
    def digest(self) -> str:
        """Digest of the request that a plan keeps."""
        return hashlib.sha256(json.dumps([self.source_id, self.aim.key]).encode()).hexdigest()[:16]

    def is_met_by(self, plan: Plan) -> bool:
        """A plan keeps a digest; one of an earlier version says so in its first note alone."""
        return plan.asked == self.digest if plan.asked else plan.notes[:1] == (self.text,)

    def is_done(self, record: Record, stores: Stores) -> bool:
        """A relative move, until the query has run or another one asks: nobody wants to go further."""
        if not self.aim.is_relative or self.asks_anew(record.by):
            return False
        view = self.observe(stores)
        return view.latest_planned == record.plan.batch_id and not moves_of(record.plan, view)

    def decide(self, seen: Seen) -> Plan:
        """Ask what the source reads from where it goes to."""
        view, initial = seen.view, _initials(seen).get(self.source_id)
        committed, planned, warnings = _offsets_of(view, self.source_id)
        with located(view.location):
            first = None if initial is None else SourceOffset(initial.decode(errors="replace"))
            move = self.aim.move(self.source_id, committed, planned, first)
        move = replace(move, warnings=(*warnings, *move.warnings), notes=(self.text, *move.notes))
        if view.stateful and not self.state_sees_rows_again:
            _refuse_again(view, move)
        plan = self._plan(seen, [move], trigger_of(self.said.trigger, view.operator_names))
        if move.again or move.perhaps:
            told = repeated_warnings(seen.stores, self._is_repeated_by, view.committed)
            plan = replace(plan, warnings=(*plan.warnings, *told))
        return replace(plan, asked=self.digest)

    def _is_repeated_by(self, plan: Plan) -> bool:
        return plan.kind == self.kind and self.is_met_by(plan)


@dataclass(frozen=True, slots=True)
class ResetAgain(_Moving):
    """The offsets that a plan has; what the sources hold is not asked again."""

    plan: Plan

    def is_met_by(self, plan: Plan) -> bool:
        """The same offsets are asked for by the same words."""
        return plan.asked == self.plan.asked

    def decide(self, seen: Seen) -> Plan:
        """With the count of rows that leads to the effects of the plan, where its offsets leave that open."""
        countings = _countings(moves_of(self.plan, seen.view))
        plans = (self._plan(seen, counted, self.plan.trigger) for counted in countings)
        first, effects = next(plans), [item.effect for item in self.plan.effects]
        same = (again for again in chain([first], plans) if [item.effect for item in again.effects] == effects)
        return replace(next(same, first), asked=self.plan.asked)


class Executor(InPlace):
    """Drops the batch in flight, and gives the newest committed offset entry other offsets."""

    planner = Reset


def export_positions(stores: Stores, source_id: str, aim: Aim) -> str:
    """Where a reset would move a source, in the CSV of ``kafka-consumer-groups``. Raises as :func:`make_reset`."""
    view = observe_without_flight(stores.checkpoint)
    _refuse_unmovable(view)
    committed, planned, _ = _offsets_of(view, source_id)
    with located(view.location):
        move = aim.move(source_id, committed, planned)
    if move.kind != "kafka":
        problem = f"source {source_id} is a {move.kind} source, whose position is none of Kafka's CSV."
        raise PlanError(problem, location=view.location, hint="Nothing was done. Leave out --export.")
    return write_csv(offsets_of(move.new))


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


def _initials(seen: Seen) -> dict[str, bytes]:
    """The initial offsets of the sources that keep one in a file of its own (Iceberg), by source id."""
    return {
        place.source_id: seen.checkpoint.read(name)
        for name in seen.view.objects
        if isinstance(place := layout.parse(name), layout.InitialOffsetFile)
    }


def _refuse_again(view: CheckpointView, move: Move) -> None:
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


def _refuse_unmovable(view: CheckpointView) -> None:
    if view.latest_committed is None:
        raise PlanError(
            "no batch is committed, so there is no position to move.",
            location=view.location,
            hint="Nothing was done. Remove the checkpoint, and start the query with the option startingOffsets.",
        )
    refuse_unfinished(view)
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


def _offsets_of(view: CheckpointView, source_id: str) -> tuple[SourceOffset, SourceOffset | None, tuple[str, ...]]:
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


def _effects(seen: Seen, moves: Sequence[Move], *, real_time: bool, fenced: bool) -> tuple[SinkEffect, ...]:
    """What becomes of the sink."""
    again, left_out, perhaps = (" and ".join(filter(None, texts)) for texts in _texts(moves))
    view, batch_id = seen.view, seen.view.latest_committed or 0
    effects = reset_effects(
        seen.sink.marker,
        batch_id,
        batch_id if fenced else view.latest_planned,
        again=again,
        left_out=left_out,
        perhaps=perhaps,
        late_before=late_before(view),
        real_time=real_time,
        stateful=view.stateful,
    )
    return tuple(map(seen.sink.named, effects))


def _texts(moves: Sequence[Move]) -> tuple[list[str], list[str], list[str]]:
    """Data read again, data left out, and data perhaps read again, source by source."""
    return [move.again for move in moves], [move.left_out for move in moves], [move.perhaps for move in moves]
