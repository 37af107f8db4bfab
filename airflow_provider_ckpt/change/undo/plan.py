"""The plan of an undo: put back what a change removed and remove what it added, in the reverse order.

It is made against what is there now. Files that a query has written since are removed first, as a rollback does it, so
each prefix of the steps is as safe as that of a rollback. Where something comes back in the place of what a query has
written, the checkpoint is closed around the steps. An undo is not undone: making the change again does the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeGuard

from airflow_provider_ckpt.change.plan.actions import Action, Clear, Close, Copy, Delete, Ends, Open, Replace
from airflow_provider_ckpt.change.plan.facts import Place, Spot, batch_of
from airflow_provider_ckpt.change.plan.later_batches import (
    deletes_of,
    peel,
    requirements_of,
    source_deletes,
    trimmed_entries,
)
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.plan.requirements import LatestCommitted, Requirement
from airflow_provider_ckpt.change.undo.flight import flight_after, names_after, newest_in
from airflow_provider_ckpt.change.undo.kept import require_kept, younger
from airflow_provider_ckpt.change.undo.left import After, find_foreign, find_present
from airflow_provider_ckpt.checkpoint.contents import listed_shortly
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.layout import main_name
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.untrusted.spans import batches_text

#: Files that a warning names.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Undo:
    """Undo of a change.

    Args:
        after: The change, and the objects there now.
        present: The steps of the change whose object is there.
        peeled: Deletes for objects that a query has written since.
        newcomers: Tables of RocksDB that a query has uploaded since, and files that nothing of Spark reads; they stay.
    """

    after: After
    present: frozenset[Action]
    peeled: tuple[Delete, ...]
    newcomers: tuple[str, ...]

    @property
    def is_untouched(self) -> bool:
        """True if the change was stopped before its first step, so that there is nothing to take back."""
        if self.after.done.rules.adds_batch:
            return not self.peeled
        return _is_untouched(self.after, self.present)

    @property
    def foreign_batches(self) -> tuple[int, ...]:
        """Batches that a query has planned or committed since; ascending."""
        return _foreign(self.after.done, self.peeled)

    def plan(self, saved_at: str, planned_at_ms: int, effects: tuple[SinkEffect, ...] = ()) -> Plan:
        """The plan; ``saved_at`` is where the copies are, under ``checkpoint/`` and ``sink/``."""
        done, view = self.after.done, self.after.view
        actions = [*self.peeled, *(() if self.is_untouched else self._put_back())]
        is_closed = any(isinstance(action, Close) for action in self.present)
        was_closed = any(isinstance(action, Close) for action in done.actions)
        if is_closed or (actions and (was_closed or self._exchanges(actions))):
            closing = self._closing_entry()
            actions = [Close(closing), *actions, Open(closing)]
        return Plan(
            kind="undo",
            location=view.location,
            query_id=done.query_id,
            batch_id=self._batch_afterwards(actions),
            planned_at_ms=planned_at_ms,
            requirements=tuple(requirements_of(view, actions, self.after.sink_log)),
            actions=tuple(actions),
            warnings=(f"Undoes the {done.called} to {done.aim} ({done.plan_id}).", *self._warnings(actions)),
            effects=effects,
            source=saved_at,
            sink=done.sink,
            undoes=done.plan_id,
        )

    def _exchanges(self, actions: Iterable[Action]) -> bool:
        """True if an object replaces one that a query has written since.

        If the query still runs, its commit would count for the entry that comes.
        """
        written = {action.spot for action in self.peeled}
        return any(isinstance(action, Copy) and action.spot in written for action in actions)

    def _closing_entry(self) -> str:
        """The entry that closes the checkpoint: the one of the change as long as it is there, else past all batches."""
        closed = next((action.name for action in self.present if isinstance(action, Close)), None)
        done = self.after.done
        steps = [action for action in done.actions if action.place == "checkpoint" and not isinstance(action, Ends)]
        batches = (batch_of(action.name) for action in steps)
        newest = max((*self.after.view.planned, *(batch for batch in batches if batch is not None)), default=-1)
        return closed or layout.offset_entry(max(newest, done.batch_id) + 1)

    def _put_back(self) -> Iterable[Action]:
        """The steps backwards. Where the change has put one object in the place of another, that one goes first."""
        if self.after.done.rules.adds_batch:
            return  # it has removed nothing
        gone: set[Spot] = set()
        originals = {action.spot for action in self.present if isinstance(action, Delete)}
        for action in reversed(self.after.done.actions):
            stored = self.after.stored(action)
            if isinstance(action, Clear | Ends):
                continue
            if isinstance(action, Replace):
                if stored is not None and action in self.present:
                    yield self._replaced_back(action, stored)
            elif not isinstance(action, Delete):
                if stored is not None and (action in self.present or action.spot not in originals):
                    gone.add(action.spot)
                    yield Delete(action.name, action.place, stored.size, stored.identity, action.sha256)
            elif action not in self.present or action.spot in gone:
                yield self._copy_of(action)

    def _copy_of(self, action: Delete) -> Copy:
        saved = self.after.saved.get(action.spot)
        if saved is None or saved.size != action.size:
            raise self._not_saved(action, is_missing=saved is None)
        return Copy(action.name, action.place, saved.size, saved.sha256, f"{action.place}/{action.name}")

    def _replaced_back(self, action: Replace, stored: StoredObject) -> Replace:
        text = self.after.texts.get(action.spot)
        back = Replace(action.name, action.place, stored.size, stored.identity, action.sha256, text or "")
        if text is None or back.sha256 != action.sha256_before:
            raise self._not_saved(action, is_missing=text is None)
        return back

    def _not_saved(self, action: Delete | Replace, *, is_missing: bool) -> PlanError:
        done = self.after.done
        problem = "is missing" if is_missing else "is not what was saved"
        return PlanError(
            f"the {done.called} {done.plan_id} cannot be undone: the saved copy of this file {problem}.",
            location=self.after.view.location,
            name=action.name,
            hint="Nothing was done. Restore a backup to a new location (ckpt restore).",
        )

    def _batch_afterwards(self, actions: Iterable[Action]) -> int:
        """The newest committed batch when the actions are done."""
        steps = (action for action in actions if action.place == "checkpoint")
        newest = newest_in(layout.COMMITS, names_after(self.after.view.objects, steps))
        return self.after.done.last_kept if newest is None else newest

    def _warnings(self, actions: Iterable[Action]) -> Iterable[str]:
        done = self.after.done
        flight = flight_after(self.after.view.objects, actions)
        if flight is not None and flight.comes_back:
            yield (
                f"Batch {flight.batch_id} comes back in flight (planned, not committed), as it was before the "
                f"{done.called}: it runs again when the query is started."
            )
        if batches := self.foreign_batches:
            those = batches_text(batches[0], batches[-1])
            yield (
                f"A query has written {those} since the {done.called}. The undo drops them first, and keeps their "
                "files in its own record."
            )
        tables = [name for name in self.newcomers if _is_table(name)]
        if tables:
            yield (
                f"{len(tables)} RocksDB files that Spark has uploaded since the {done.called} are not removed: "
                f"{listed_shortly(tables, _NAMED)}. No state version after the undo uses them, so Spark does not "
                "read them and its maintenance deletes them later."
            )
        others = [name for name in self.newcomers if not _is_table(name)]
        if others:
            yield (
                f"{len(others)} files that ckpt does not know have come since the {done.called} and are left as they "
                f"are: {listed_shortly(others, _NAMED)}."
            )


def _is_table(name: str) -> bool:
    return isinstance(layout.parse(main_name(name)), layout.StateTable)


def judge_undo(after: After, hashes: Mapping[Spot, str]) -> Undo:
    """Judge the undo of a change.

    Args:
        after: The change, and the objects there now.
        hashes: SHA-256 (hex) of all of ``after.to_hash()``.

    Raises:
        PlanError: Something that the change left alone is not as it was, so an undo would have no sure result.
    """
    if after.done.rules.adds_batch:
        return _judge_added(after)
    present = find_present(after, hashes)
    if after.done.rules.is_passed and after.is_run_on:
        return Undo(after, frozenset(), peeled=(), newcomers=())
    _require_known(after, find_foreign(after, present, hashes))
    if _is_untouched(after, present):
        return Undo(after, present, peeled=(), newcomers=())
    peeled = _peel(after, {action.spot for action in present})
    newcomers = require_kept(after, [action.spot for action in peeled])
    return Undo(after, present, peeled, newcomers)


def _require_known(after: After, foreign: Replace | None) -> None:
    if foreign is not None:
        raise PlanError(
            f"the {after.done.called} {after.done.plan_id} cannot be undone, because this file was removed or written "
            "again since.",
            location=after.view.location,
            name=foreign.name,
            hint=f"Nothing was done. Its content before the {after.done.called} is in {after.done.plan_id}/saved in "
            "the record of the change (ckpt history).",
        )


def _judge_added(after: After) -> Undo:
    """Undo of a change that adds a batch: all that is past the batch that it kept goes, and nothing comes back."""
    peeled = () if after.is_overtaken else _peel(after, ())
    tables = require_kept(after, [action.spot for action in peeled]) if peeled else ()
    return Undo(after, frozenset(), peeled, tables)


def _foreign(done: Plan, peeled: Iterable[Delete]) -> tuple[int, ...]:
    places = (layout.parse(action.name) for action in peeled)
    batches = {place.batch_id for place in places if isinstance(place, layout.LogEntry)}
    own = {done.batch_id} if done.rules.adds_batch else set()
    return tuple(sorted(batches - own))


def _is_untouched(after: After, present: frozenset[Action]) -> bool:
    removed = {action.spot for action in after.done.actions if isinstance(action, Delete)}
    added = {action.spot for action in present} - removed
    return all(
        action in present if isinstance(action, Delete) else action.spot not in added for action in after.done.actions
    )


def _peel(after: After, own: Collection[Spot]) -> tuple[Delete, ...]:
    """Deletes for what a query has written since; ``own`` is of the change."""

    def others(place: Place) -> dict[str, StoredObject]:
        return {name: stored for name, stored in after.objects(place).items() if (place, name) not in own}

    target, is_closed = (
        after.done.last_kept,
        any(isinstance(action, Close) and action.spot in own for action in after.done.actions),
    )
    view = replace(after.view, objects=others("checkpoint"))
    sink_log = None if after.sink_log is None else replace(after.sink_log, objects=others("sink"))
    trims = trimmed_entries(target, sink_log) if sink_log is not None else {}
    # Its offsets say where the source logs end; where they are not there, no source log was written since.
    knows_target = layout.offset_entry(target) in view.entries
    peeled = (*peel(view, target, trims, sink_log), *_of_batch_in_flight(after, view))
    if is_closed or not knows_target or (after.done.rules.adds_batch and not _foreign(after.done, peeled)):
        return peeled  # the batch that a change adds reads no input, so the log of no source has it
    # What the change itself has put there tells that a log which was compacted since is whole without that entry.
    past = (action for action in source_deletes(after.view, target) if action.spot not in own)
    return (*peeled, *past, *_of_new_sources(after, view))


def _is_number(item: Requirement) -> TypeGuard[LatestCommitted]:
    return isinstance(item, LatestCommitted) and item.expected.isdecimal()


def _of_batch_in_flight(after: After, view: CheckpointView) -> list[Delete]:
    """Objects that a query has written since of a batch that was in flight: its commit, and its state."""
    done = after.done
    committed = [int(item.expected) for item in done.requirements if _is_number(item)]
    is_committed = layout.commit_entry(done.last_kept) in done.writes()  # by the change itself
    was_committed = done.last_kept == done.batch_id and any(batch >= done.last_kept for batch in committed)
    if not done.rules.keeps_in_flight or is_committed or was_committed:
        return []
    young = {name for name in younger(after, "checkpoint") if batch_of(name) == done.last_kept} & view.objects.keys()
    entry = layout.commit_entry(done.last_kept)
    state = sorted({main_name(name) for name in young if name.startswith(f"{layout.STATE}/")})
    return deletes_of(view.objects, [entry, *state])


def _of_new_sources(after: After, view: CheckpointView) -> list[Delete]:
    """Objects that a query has written since for sources that had no offset yet when their query was changed."""
    if not after.done.rules.keeps_in_flight:
        return []
    offsets = view.offset_seq(after.done.last_kept).offsets
    begun = tuple(f"{layout.SOURCES}/{source_id}/" for source_id, offset in offsets if offset is None)
    young = {main_name(name) for name in younger(after, "checkpoint") if name.startswith(begun)}
    return deletes_of(view.objects, sorted(young, reverse=True))
