"""Several calls under way at once, with results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from itertools import count
from threading import Event, Lock
from typing import TypeVar

Result = TypeVar("Result")


#: Called with the steps done, all steps, and the object at hand; from any thread, never from two at once.
OnStep = Callable[[int, int, str], None]


def no_step(done: int, total: int, name: str) -> None:
    """Nobody watches."""


def in_parallel(
    function: Callable[[str], Result], names: Sequence[str], threads: int, on_step: OnStep = no_step
) -> list[Result]:
    """Call a function for each name on a few threads; results in order, the first error ends it."""
    results: dict[str, Result] = {}
    todo, done, stopped, telling = iter(names), count(1), Event(), Lock()

    def work() -> None:
        for name in todo:
            results[name] = function(name)
            with telling:
                on_step(next(done), len(names), name)
            if stopped.is_set():
                return

    with ThreadPoolExecutor(threads) as pool:
        workers = [pool.submit(work) for _ in range(min(threads, len(names)))]
        try:
            for worker in as_completed(workers):
                worker.result()
        finally:
            stopped.set()
    return [results[name] for name in names]


#: How many reads or copies are under way at once; between local disks the CPU is what they wait for.
THREADS, LOCAL_THREADS = 8, 2


Item = TypeVar("Item")


def in_order(
    pool: Executor, function: Callable[[Item], Result], items: Iterable[Item], *, window: int
) -> Iterator[Result]:
    """Results in the order of the items; never more than ``window`` items have been taken and not been answered."""
    pending: deque[Future[Result]] = deque()
    try:
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) == window:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()
