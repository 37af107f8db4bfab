"""Protocols with a bug each, to see that the search finds it: a patch of the package, where it shows, and by what."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from airflow_provider_ckpt.backup import prune, take
from airflow_provider_ckpt.backup.copier import Copier
from airflow_provider_ckpt.change import apply, guard, lock, stage
from airflow_provider_ckpt.change.plan.facts import batch_of
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.changes.restore import make as make_restore
from airflow_provider_ckpt.changes.restore import restore
from airflow_provider_ckpt.changes.rollback import plan as rollback_plan
from airflow_provider_ckpt.storage.store import Store
from tests.interleavings import backups, changes, invariants, seeded_backups, seeded_fences
from tests.interleavings.bug import Bug, nothing, replaced


def _take_unexclusively(place: Store, checkpoint: Store, mine: lock.Holder, break_lock: bool) -> list[str]:
    if lock._read(place, lock.LOCK) is not None:
        raise lock._busy(checkpoint, mine)
    place.write(lock.LOCK, mine.encode())
    return [lock.LOCK]


_take_steps = apply._take_steps


def _begin_with_receipt(record: Store, plan: Any, **options: Any) -> None:
    _begin(record, plan, **options)
    journal.complete(record, plan.plan_id, by="", at_ms=0)


_begin = journal.begin


def _save_nothing(taken: Any, place: Any, record: Store, tick: Any, mine: Any, *, resuming: bool) -> None:
    journal.write_saved(record, 0, {})


def _steps_backwards(executor_: Any, todo: Any, guard_: Any, on_step: Any) -> None:
    _take_steps(executor_, list(reversed(todo)), guard_, on_step)


def _clear_then_take_steps(executor_: Any, todo: Any, guard_: Any, on_step: Any) -> None:
    journal.clear(executor_.record, journal.SAVED_OBJECTS)
    _take_steps(executor_, todo, guard_, on_step)


@contextmanager
def _no_guard() -> Iterator[None]:
    with (
        mock.patch.object(guard.Guard, "_difference", lambda self: None),
        mock.patch.object(guard.Guard, "_difference_in_logs", lambda self: None),
    ):
        yield


@contextmanager
def _stale_plans() -> Iterator[None]:
    with mock.patch.object(apply, "validate", nothing), mock.patch.object(apply, "_require_own_plan", nothing):
        yield


_peel = rollback_plan.peel


def _peel_logs(*arguments: Any) -> list[Any]:
    return [action for action in _peel(*arguments) if not action.name.startswith("state/")]


def _peel_oldest_first(*arguments: Any) -> list[Any]:
    return sorted(_peel(*arguments), key=lambda action: batch_of(action.name) or 0)


def _peel_state_first(*arguments: Any) -> list[Any]:
    return sorted(_peel(*arguments), key=lambda action: not action.name.startswith("state/"))


def _finish_then_take_steps(executor: Any, todo: Any, guard_: Any, on_step: Any) -> None:
    executor.finish("", 0)
    _take_steps(executor, todo, guard_, on_step)


def _save_anew(taken: Any, place: Any, record: Store, tick: Any, mine: Any, *, resuming: bool) -> None:
    if resuming:
        journal.clear(record, journal.SAVED_OBJECTS)
    _save(taken, place, record, tick, mine, resuming=resuming)


_save = stage.save


def _reuse_by_name(copier: Copier, name: str) -> Any:
    return copier._base.get(name) if name in copier._listed else None


@contextmanager
def _copy_at_any_moment() -> Iterator[None]:
    with mock.patch.object(take, "_require_same", nothing), mock.patch.object(take, "_require_unchanged", nothing):
        yield


_plan_restore = make_restore.plan_restore


def _logs_in_order(*arguments: Any, **options: Any) -> Any:
    plan = _plan_restore(*arguments, **options)
    ranks = {name: rank for rank, name in enumerate(("metadata", "state", "offsets", "commits"))}
    actions = sorted(plan.actions, key=lambda action: (ranks[action.name.partition("/")[0]], action.name))
    return dataclasses.replace(plan, actions=tuple(actions))


@contextmanager
def _logs_restored_in_order() -> Iterator[None]:
    with (
        mock.patch.object(make_restore, "plan_restore", _logs_in_order),
        mock.patch.object(restore, "plan_restore", _logs_in_order),
    ):
        yield


BUGS = (
    Bug(
        "what is removed is not saved",
        replaced(stage, "save", _save_nothing),
        changes.rollback_alone,
        (invariants.NOTHING_LOST,),
    ),
    Bug(
        "the saved copies are deleted before the steps",
        replaced(apply, "_take_steps", _clear_then_take_steps),
        changes.rollback_alone,
        (invariants.NOTHING_LOST,),
    ),
    Bug(
        "the steps are taken in the reverse order",
        replaced(apply, "_take_steps", _steps_backwards),
        changes.rollback_alone,
        (invariants.STARTS,),
    ),
    Bug(
        "the receipt is written first",
        replaced(journal, "begin", _begin_with_receipt),
        changes.rollback_alone,
        (invariants.RECORD_TRUE,),
    ),
    Bug(
        "later state is left behind",
        replaced(rollback_plan, "peel", _peel_logs),
        changes.rollback_and_query,
        (invariants.STARTS_RIGHT,),
    ),
    Bug(
        "the guard lists nothing",
        _no_guard,
        changes.rollback_and_query,
        (invariants.DONE_STARTS,),
    ),
    Bug(
        "a stale plan is carried out",
        _stale_plans,
        changes.rollback_and_query,
        (invariants.DONE_STARTS,),
    ),
    Bug(
        "the lock is not created exclusively",
        replaced(lock, "_take", _take_unexclusively),
        changes.rollback_and_rollback,
        (invariants.ONE_WINNER,),
        bound=2,
    ),
    Bug(
        "a lock is taken over from whoever has it",
        replaced(lock, "_may_take_over", lambda holder, mine: True),
        changes.rollback_and_rollback,
        (invariants.ONE_WINNER,),
    ),
    Bug(
        "the oldest batch goes first",
        replaced(rollback_plan, "peel", _peel_oldest_first),
        changes.rollback_alone,
        (invariants.STARTS,),
    ),
    Bug(
        "state goes before the commits",
        replaced(rollback_plan, "peel", _peel_state_first),
        changes.rollback_alone,
        (invariants.STARTS,),
    ),
    Bug(
        "an undo is recorded before its steps",
        replaced(apply, "_take_steps", _finish_then_take_steps),
        changes.undo_alone,
        (invariants.RECORD_TRUE,),
    ),
    Bug(
        "an undo puts the commits back first",
        replaced(apply, "_take_steps", _steps_backwards),
        changes.undo_alone,
        (invariants.STARTS,),
    ),
    Bug(
        "who goes on after a crash clears what was saved",
        replaced(stage, "save", _save_anew),
        changes.crash_and_again,
        (invariants.NOTHING_LOST,),
    ),
    Bug(
        "nothing is listed after the last step",
        replaced(guard.Guard, "require_as_planned", nothing),
        changes.rollback_and_query,
        (invariants.DONE_STARTS,),
    ),
    Bug(
        "a prune sweeps what the kept backups name",
        replaced(prune, "named_by", lambda *groups: set()),
        backups.prune_and_prune,
        (invariants.BACKUPS_WHOLE,),
    ),
    Bug(
        "a backup does not list again what it has copied",
        _copy_at_any_moment,
        backups.backup_and_rollback,
        (invariants.BACKUPS_RIGHT,),
    ),
    Bug(
        "a backup knows a file again by its name",
        replaced(Copier, "_reusable", _reuse_by_name),
        backups.backup_and_rollback,
        (invariants.BACKUPS_RIGHT,),
    ),
    Bug(
        "a restore writes the logs in the order of their names",
        _logs_restored_in_order,
        backups.restore_and_prune,
        (invariants.STARTS_RIGHT,),
    ),
    *seeded_backups.BUGS,
    *seeded_fences.BUGS,
)
