"""Protocols with a bug each, to see that the search finds it: a patch of the package, where it shows, and by what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from airflow_provider_ckpt.change import apply, guard, journal, lock, stage
from airflow_provider_ckpt.rollback import plan as rollback_plan
from airflow_provider_ckpt.storage.store import Store
from tests.interleavings import invariants, scenarios
from tests.interleavings.search import Scenario


@dataclass(frozen=True, slots=True)
class Bug:
    """A protocol that is wrong.

    Args:
        name: What it does wrong.
        patch: Makes it so.
        scenario: Where that shows.
        broken: The invariants of which one finds it.
        bound: The preemptions that it takes.
        kind: Of the storage.
    """

    name: str
    patch: Callable[[], AbstractContextManager[Any]]
    scenario: Callable[[str], Scenario]
    broken: tuple[str, ...]
    bound: int = 1
    kind: str = "disk"


def replaced(target: object, name: str, new: object) -> Callable[[], AbstractContextManager[Any]]:
    """A patch of one function."""
    return lambda: mock.patch.object(target, name, new)


def nothing(*arguments: object, **options: object) -> None:
    """Is left out."""


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


BUGS = (
    Bug(
        "what is removed is not saved",
        replaced(stage, "save", _save_nothing),
        scenarios.rollback_alone,
        (invariants.NOTHING_LOST,),
    ),
    Bug(
        "the saved copies are deleted before the steps",
        replaced(apply, "_take_steps", _clear_then_take_steps),
        scenarios.rollback_alone,
        (invariants.NOTHING_LOST,),
    ),
    Bug(
        "the steps are taken in the reverse order",
        replaced(apply, "_take_steps", _steps_backwards),
        scenarios.rollback_alone,
        (invariants.STARTS,),
    ),
    Bug(
        "the receipt is written first",
        replaced(journal, "begin", _begin_with_receipt),
        scenarios.rollback_alone,
        (invariants.RECORD_TRUE,),
    ),
    Bug(
        "later state is left behind",
        replaced(rollback_plan, "peel", _peel_logs),
        scenarios.rollback_and_query,
        (invariants.STARTS_RIGHT,),
    ),
    Bug(
        "the guard lists nothing",
        _no_guard,
        scenarios.rollback_and_query,
        (invariants.DONE_STARTS,),
    ),
    Bug(
        "a stale plan is carried out",
        _stale_plans,
        scenarios.rollback_and_query,
        (invariants.DONE_STARTS,),
    ),
    Bug(
        "the lock is not created exclusively",
        replaced(lock, "_take", _take_unexclusively),
        scenarios.rollback_and_rollback,
        (invariants.ONE_WINNER,),
        bound=2,
    ),
    Bug(
        "a lock is taken over from whoever has it",
        replaced(lock, "_may_take_over", lambda holder, mine: True),
        scenarios.rollback_and_rollback,
        (invariants.ONE_WINNER,),
    ),
)
