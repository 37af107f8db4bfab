"""Everything that differs from run to run, decided: clocks, ids, and the order of calls within one actor.

Each actor has a clock that stands still, so that the order of two calls does not show in what they write; that of the
query is ahead, for what it writes is later than every plan.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock

from airflow_provider_ckpt import clock
from airflow_provider_ckpt.backup import take
from airflow_provider_ckpt.change import guard, lock
from airflow_provider_ckpt.checkpoint import listing
from airflow_provider_ckpt.storage import concurrency
from tests.interleavings import scheduler

FIRST_MS = 1_767_225_600_000
#: When all actors act, and how far the query's clock is ahead.
NOW_MS, AHEAD_MS = FIRST_MS + 86_400_000, 1_000
_before: Iterator[int]
_tokens: Iterator[int]


def start_over() -> None:
    """A scenario begins: what is laid out for it is as old in every run."""
    global _before, _tokens
    _before, _tokens = itertools.count(FIRST_MS, 60_000), itertools.count(1)


def now_ms() -> int:
    """The time of whoever asks; before the actors begin a minute passes with each question."""
    actor = scheduler.current()
    return next(_before) if actor is None else time_of(actor)


def time_of(actor: scheduler.Actor | None) -> int:
    """The time of an actor, also when it writes."""
    if actor is None:
        return FIRST_MS
    return NOW_MS + actor.part.ahead_ms


def _uuid4() -> SimpleNamespace:
    actor = scheduler.current()
    if actor is None:
        return SimpleNamespace(hex=f"{next(_tokens):016x}")
    actor.tokens += 1
    return SimpleNamespace(hex=f"{actor.name}{actor.tokens}".ljust(16, "0"))


def _one_after_another(function: Callable[[str], Any], names: Sequence[str], threads: int, on_step=None) -> list[Any]:
    results = []
    for done, name in enumerate(names):
        results.append(function(name))
        if on_step is not None:
            on_step(done + 1, len(names), name)
    return results


class _AtOnce:
    """A pool that does what it is given, before anything else."""

    def __init__(self, threads: int) -> None:
        pass

    def __enter__(self) -> _AtOnce:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def submit(self, function: Callable[[], Any]) -> SimpleNamespace:
        answer = function()
        return SimpleNamespace(result=lambda: answer)


_real_is_gone = lock.Holder.is_gone.fget


def _is_gone(holder: lock.Holder) -> bool:
    """Whether its process has ended; an actor that asks has learnt it."""
    gone = bool(_real_is_gone(holder))
    if (actor := scheduler.current()) is not None:
        actor.note("is gone", holder.token, gone)
    return gone


_init_held, _real_release = lock.Held.__init__, lock._release


def _begin_to_hold(held: lock.Held, checkpoint: Any, *arguments: Any) -> None:
    _init_held(held, checkpoint, *arguments)
    if (actor := scheduler.current()) is not None:
        actor.holds = checkpoint.location


def _release(*arguments: Any) -> None:
    if (actor := scheduler.current()) is not None:
        actor.holds = ""
    _real_release(*arguments)


def crashed(actor: scheduler.Actor) -> None:
    """Its process is gone."""
    lock._held.difference_update({token for token in lock._held if token.startswith(actor.name)})


@contextmanager
def decided(page: int) -> Iterator[None]:
    """Let nothing but the schedule decide what actors do."""
    with ExitStack() as patches:
        for original, own in ((clock.now_ms, now_ms), (concurrency.in_parallel, _one_after_another)):
            for module in list(sys.modules.values()):
                if module is not None and module.__name__.startswith("airflow_provider_ckpt"):
                    for name, value in list(vars(module).items()):
                        if value is original:
                            patches.enter_context(mock.patch.object(module, name, own))
        for target, name, own in (
            (take, "ThreadPoolExecutor", _AtOnce),
            (lock, "uuid", SimpleNamespace(uuid4=_uuid4)),
            (lock, "this_machine", lambda: "this machine"),
            (lock, "life_of", lambda pid: "now"),
            (lock.Holder, "is_gone", property(_is_gone)),
            (lock.Held, "__init__", _begin_to_hold),
            (lock, "_release", _release),
            (listing, "PAGE_OBJECTS", page),
            (guard, "RECHECK_S", math.inf),
        ):
            patches.enter_context(mock.patch.object(target, name, own))
        yield
