"""A change that a person stops with Ctrl-C after some of its steps."""

from __future__ import annotations

from collections.abc import Callable


def stop_after(steps: int) -> Callable[[int, int, str], None]:
    """An ``on_step`` that stops a change when so many of its steps are done."""

    def stop(done: int, total: int, name: str) -> None:
        if done == steps:
            raise KeyboardInterrupt

    return stop
