"""Calls under way at once, each with a time limit: one that hangs holds no other, nor the end of the process."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Late(Exception):  # noqa: N818  # the answer of a call, as an error of it would be
    """A call did not end in time; its thread is left to itself."""


@dataclass(eq=False)
class _Task(Generic[Result]):
    """A call; ``began_s`` is when it began, by the monotonic clock."""

    call: Callable[[], Result]
    began_s: float | None = None
    is_done: bool = False
    is_late: bool = False
    results: list[Result] = field(default_factory=list)
    error: BaseException | None = None

    def run(self) -> None:
        """Make the call."""
        try:
            self.results.append(self.call())
        except BaseException as error:  # who asks for the result gets it
            self.error = error

    def answer(self) -> Result:
        """The result. Raises the error of the call, or :class:`Late`."""
        if self.is_late:
            raise Late
        if self.error is not None:
            raise self.error
        return self.results[0]


class _Workers(Generic[Result]):
    """Threads that make calls; one that is late gets another one in its place."""

    def __init__(self, tasks: Sequence[_Task[Result]], threads: int) -> None:
        self._todo, self._changed = deque(tasks), Condition()
        for _ in range(min(threads, len(tasks))):
            self._start()

    def wait(self, task: _Task[Result], timeout_s: float) -> None:
        """Wait until a task is done, or has taken too long."""
        with self._changed:
            while not task.is_done and not task.is_late:
                left_s = None if task.began_s is None else task.began_s + timeout_s - time.monotonic()
                if left_s is not None and left_s <= 0:
                    task.is_late = True
                    self._start()
                else:
                    self._changed.wait(left_s)

    def stop(self) -> None:
        """Begin no more."""
        with self._changed:
            self._todo.clear()

    def _start(self) -> None:
        Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while (task := self._next()) is not None:
            task.run()
            with self._changed:
                task.is_done = True
                self._changed.notify_all()
                if task.is_late:  # another thread has its place
                    return

    def _next(self) -> _Task[Result] | None:
        with self._changed:
            task = self._todo.popleft() if self._todo else None
            if task is not None:
                task.began_s = time.monotonic()
                self._changed.notify_all()
            return task


def in_time(calls: Sequence[Callable[[], Result]], *, threads: int, timeout_s: float) -> Iterator[Callable[[], Result]]:
    """Make calls on a few threads.

    Args:
        calls: The calls.
        threads: How many are under way at once, beside those that are late.
        timeout_s: How long each may take, seconds.

    Returns:
        A generator that gives for each call in order a function that returns its result, or raises its error or
        :class:`Late`.
    """
    tasks = [_Task(call) for call in calls]
    workers = _Workers(tasks, threads)
    try:
        for task in tasks:
            workers.wait(task, timeout_s)
            yield task.answer
    finally:
        workers.stop()
