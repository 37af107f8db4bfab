"""Making the plans of undos: find the change, read what it has left and what was written since, and decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from shlex import quote
from typing import Annotated, ClassVar, Self

from airflow_provider_ckpt.change import stage
from airflow_provider_ckpt.change.find_unfinished import still_unfinished_warnings
from airflow_provider_ckpt.change.fit_sink import require_fit, require_remembered
from airflow_provider_ckpt.change.judge_start import judge_start
from airflow_provider_ckpt.change.make_plan import Planner, Seen, find_begun, make_anew
from airflow_provider_ckpt.change.option import Downstream, Opt, TriggerOf, not_known_yet
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.actions import Copy, Replace
from airflow_provider_ckpt.change.plan.kinds import Kind
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.change.record.find_done import find_undo_before, find_undo_of
from airflow_provider_ckpt.change.undo.flight import flight_after, sink_log_after
from airflow_provider_ckpt.change.undo.left import After
from airflow_provider_ckpt.change.undo.plan import Undo, judge_undo
from airflow_provider_ckpt.checkpoint.find_restart_set import operator_names
from airflow_provider_ckpt.checkpoint.inside import is_inside
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.read_unmoved import read_unmoved
from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import PlanError, StalePlanError
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.restart.real_time import REAL_TIME, trigger_of
from airflow_provider_ckpt.sinks.change_effects import (
    flight_effect,
    in_real_time,
    rollback_effect,
    undo_effect,
    with_state,
)
from airflow_provider_ckpt.sinks.effects import EFFECTS, Effect, SinkEffect
from airflow_provider_ckpt.sinks.file import marker_of, read_file_sink
from airflow_provider_ckpt.sinks.memory import place_of
from airflow_provider_ckpt.sinks.read_marker import read_marker
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import time_text


def make_undo(
    stores: Stores,
    *,
    undoes: str | None = None,
    sink: Sink | None = None,
    opened: Callable[[str], Store] | None = None,
    trigger: str | None = None,
) -> Plan:
    """Plan to take back the newest change that is not undone yet.

    What a query has written since is dropped first, and kept in the record of the undo. An undo itself is not undone:
    the rollback that it took back can be done again.

    Args:
        stores: The checkpoint and the other places of the change.
        undoes: The id of the plan that is to be taken back; None for that of the newest change.
        sink: The sink of the query, for its effect when there are batches to drop; a file sink when ``stores.sink`` is
            given.
        opened: Opens the sink whose log the change trimmed, when ``stores.sink`` is not given.
        trigger: The trigger of the query; when not given, the one that was said for the change.

    Raises:
        PlanError: There is no change to undo, the newest is not the one named, or files that it kept have changed
            since. The error says what can be done.
        CheckpointMovedError: The query is running, and removes what was just listed.
        StoreError: Its record is damaged.
    """
    return UndoRequest(sink=sink, undoes=undoes, trigger=trigger).plan(stores, opened)


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoRequest(Planner):
    """Which change is taken back; closed checkpoints and links do not keep it from that.

    Args:
        record: The record of that change, which is the newest one that is not undone.
    """

    kind: ClassVar[Kind] = "undo"
    sink: Annotated[
        Sink | None,
        Opt("--sink TYPE[:URI]", "Sink of the query. By default the one that was declared for the change.", "sink"),
    ] = None
    undoes: Annotated[
        str | None,
        Opt(
            "--undoes PLAN_ID",
            "Undo this change, as ckpt history names it, and no other. Refused when a later one has to be undone "
            "first; nothing is done when it is undone already, so a script may say it twice.",
            "name",
        ),
    ] = None
    downstream: Downstream = ()
    trigger: TriggerOf = None
    record: journal.Record | None = None

    @classmethod
    def of(cls, plan: Plan, stores: Stores) -> Self:
        """The undo of the same change. Raises StalePlanError when a newer change would be undone."""
        record = journal.last_change(stores.checkpoint, stores.undo)
        if record.plan.plan_id != plan.undoes:
            raise StalePlanError(
                f"the plan undoes {plan.undoes}, but the newest change is now {record.plan.plan_id}.",
                location=plan.location,
                hint="Nothing was done. Make a new plan.",
            )
        return cls(record=record, sink=plan.declared_sink, trigger=plan.trigger)

    def plan(self, stores: Stores, opener: Callable[[str], Store] | None = None) -> Plan:
        """As :func:`make_undo`; of a named change that is undone already, that undo."""
        if self.undoes and (undone := find_undo_of(self.undoes, stores)):
            return undone.plan
        record = journal.last_change(stores.checkpoint, stores.undo)
        done = record.plan
        if self.undoes is not None and done.plan_id != self.undoes:
            raise PlanError(
                f"the newest change that is not undone is {done.plan_id}, not {self.undoes!r:.60}.",
                location=stores.checkpoint.location,
                hint="Nothing was done. ckpt history shows the changes; a later one has to be undone first.",
            )
        if done.sink and stores.sink is None and opener is not None:
            stores = replace(stores, sink=opener(done.sink))
        asked = replace(self, record=record)
        if (begun := find_begun(asked, stores)) is not None:
            return begun
        declared = self.sink or done.declared_sink
        if not declared.kind and stores.sink is not None:
            declared = Sink("file", stores.sink.location)
        if stores.sink is None and declared.directory and opener is not None:
            stores = replace(stores, sink=opener(declared.directory))
        asked = replace(asked, sink=declared, trigger=self.trigger or done.trigger)
        plan = read_unmoved(lambda: make_anew(asked, stores), stores.checkpoint, stores.sink)
        before = find_undo_before(stores)
        # An undo that was killed before it said so of its change is completed now, and nothing goes further.
        notes = () if before is None or before.plan.undoes == done.plan_id else (_goes_further(before, record),)
        return replace(plan, notes=(*notes, *plan.notes))

    @property
    def _record(self) -> journal.Record:
        if self.record is None:
            raise not_known_yet("the change that is to be taken back")
        return self.record

    def is_met_by(self, plan: Plan) -> bool:
        """The same change is taken back."""
        wanted = self.undoes if self.record is None else self.record.plan.plan_id
        return wanted is not None and plan.undoes == wanted

    def observe(self, stores: Stores) -> CheckpointView:
        """The checkpoint with the entries of the batch that the change has left."""
        done = self._record.plan
        return observe(stores.checkpoint, deep=True, batch_id=max(done.batch_id, done.last_kept))

    def decide(self, seen: Seen) -> Plan:
        """What a query has written since goes, and what the change has removed comes back."""
        record = self._record
        _require_own_log(record.plan, seen)
        undo = _read_undo(record.plan, seen)
        operators = operator_names(seen.checkpoint, seen.view, record.plan.last_kept)
        trigger = trigger_of(self.trigger, operators)
        effect = _judge_undo(record, seen, undo, trigger)
        plan = undo.plan(f"{record.location}/{journal.SAVED_OBJECTS}", now_ms(), (effect,))
        warnings = (*plan.warnings, *still_unfinished_warnings(seen.stores, record))
        return replace(plan, trigger=trigger, warnings=warnings)

    def judge(self, plan: Plan, seen: Seen) -> Plan:
        """With the state, where the undo takes away what has replaced broken files."""
        done = self._record.plan
        saved = seen.stores.record(done.plan_id).child(journal.SAVED_OBJECTS)
        brought = any(isinstance(step, Copy) and step.place == "checkpoint" for step in done.actions)
        return judge_start(
            plan,
            seen.view,
            seen.checkpoint,
            lambda copy: (saved, copy.source),
            state=brought,
            marker=_marker_after(plan, done, seen),
        )


def _marker_after(plan: Plan, done: Plan, seen: Seen) -> SinkMarker | None:
    """What the sink remembers after the undo, which puts a log back that was trimmed; None where it is not open."""
    if plan.sink:
        return marker_of(sink_log_after(read_file_sink(seen.stores.place("sink")), plan.actions))
    sink, store = seen.stores.declared(seen.said.sink), seen.stores.sink
    if sink.directory and store is None:
        return None
    return read_marker(sink, store if sink.directory else None, done.query_id, done.last_kept)


def _goes_further(before: journal.Record, record: journal.Record) -> str:
    """Notice for somebody who types ``ckpt undo`` once more, and may not have seen that it was done."""
    by = f" by {before.by}" if before.by else ""
    when = "" if before.done_at_ms is None else f" at {time_text(before.done_at_ms)}"
    return (
        f"The undo of {before.plan.undoes} was carried out already{by}{when}. This plan goes further: it takes back "
        f"the change before it, the {record.plan.called} {record.plan.plan_id}."
    )


def _require_own_log(done: Plan, seen: Seen) -> None:
    """Raise PlanError for a sink other than the one whose log the change has trimmed, before its log is read."""
    stores, sink = seen.stores, seen.stores.declared(seen.said.sink)
    store = stores.sink if sink.directory else None
    if not done.sink or store is None or place_of(store) == place_of(store.at(done.sink)):
        return
    require_remembered(stores.checkpoint, done.query_id, sink, store)
    raise PlanError(
        f"the {done.called} {done.plan_id} changed the log of {done.sink}, not the log of {store.location}.",
        location=done.location,
        hint="Nothing was changed. Leave out --sink, and declare no other sink in a query file.",
    )


def _read_undo(done: Plan, seen: Seen) -> Undo:
    """Read what a change has left and what was written since. Raises PlanError when it cannot be undone."""
    stores, view = seen.stores, seen.view
    sink_log = read_file_sink(stores.place("sink")) if done.sink else None
    record = stores.record(done.plan_id)
    replaced = [action for action in done.actions if isinstance(action, Replace)]
    inside = stores.checkpoint.find() if view.inside else {}
    after = After(
        done,
        view,
        sink_log,
        stage.saved_objects(record),
        stage.saved_texts(record, replaced),
        {name: stored for name, stored in inside.items() if is_inside(name, view.inside)},
    )
    return judge_undo(after, {(place, name): stores.place(place).sha256(name)[1] for place, name in after.to_hash()})


def _trim_afterwards(undo: Undo, sink: str, effect: Effect) -> str:
    """How the log of a file sink forgets the batches that an undo drops, which the change itself left alone."""
    place, declared = quote(undo.after.view.location), f"--sink {quote(sink)} --trim-sink-log"
    if undo.after.done.kind == "salvage":  # what was damaged comes back, so no rollback may go there
        command = f"ckpt salvage {place} {declared}"
    else:
        after = undo.plan("", 0).batch_id
        command = f"ckpt rollback {place} --to-batch {after} {declared} --execute --i-know-it-is-stopped"
    return f"Accept it (--accept-sink {effect}), and before the query starts trim the log of the sink: {command}"


def _judge_undo(record: journal.Record, seen: Seen, undo: Undo, trigger: str) -> SinkEffect:
    """Effect of an undo on the sink, where it can be read."""
    done, stores, sink = record.plan, seen.stores, seen.stores.declared(seen.said.sink)
    if sink.directory and stores.sink is None:
        return SinkEffect(
            sink.name,
            "unknown",
            "the sink was not declared for the undo, so its present content was not read",
            "Declare the sink: --sink TYPE:URI.",
        )
    store = stores.sink if sink.directory else None
    marker = read_marker(sink, store, done.query_id, done.last_kept)
    if not done.sink:  # the log of another one was not trimmed
        require_fit(stores.checkpoint, stores.undo, undo.after.view, sink, store, marker)
    foreign = undo.foreign_batches
    if done.kind == "repair" and not foreign:
        effect = SinkEffect(
            sink.name, "skipped", "its log lacks entries again, so readers of the table miss rows or stop"
        )
    elif done.rules.adds_batch and not foreign:
        effect = SinkEffect(sink.name, "exact", "the removed batch wrote no rows to the sink")
    elif foreign:
        kept = min(done.last_kept, foreign[0] - 1)
        effect = rollback_effect(marker, kept, foreign[-1], trimmed=bool(done.sink))
        effect = with_state(effect, marker, kept, stateful=undo.after.view.stateful)
        if marker.kind == "file" and effect.effect in ("skipped", "stops"):
            effect = replace(effect, remedy=_trim_afterwards(undo, sink.name, effect.effect))
    else:
        effect = undo_effect(marker, record.from_batch, trimmed=bool(done.sink))
    effect = _with_flight(effect, undo, marker)
    if trigger == REAL_TIME:
        effect = in_real_time(effect, marker)
    return replace(effect, sink=sink.at(store).name)


def _with_flight(effect: SinkEffect, undo: Undo, marker: SinkMarker) -> SinkEffect:
    """The worse of an effect and of that of the batch which is in flight after the undo."""
    after = undo.after
    actions = undo.plan("", 0).actions
    flight = flight_after(after.view.objects, actions)
    if flight is None or after.done.rules.adds_batch:
        return effect
    if flight.comes_back:
        then = marker if after.sink_log is None else marker_of(sink_log_after(after.sink_log, actions))
        again = flight_effect(then, flight.batch_id)
        worse = EFFECTS.index(again.effect) > EFFECTS.index(effect.effect) or effect.effect == "exact"
        return again if worse else effect
    if effect.effect == "exact" and not undo.foreign_batches:
        why = f"batch {flight.batch_id} stays in flight, as without the undo, and runs again with the rows that it had"
        return replace(effect, reason=why)
    return effect
