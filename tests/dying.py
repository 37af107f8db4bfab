"""A process that dies or pauses before one of its writes, as a kill would have it: nothing is flushed or cleared away."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

#: What Python tells of writes, before it does them.
_WRITES = frozenset({"os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.symlink", "os.truncate"})
_FOR_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
KILLED = 137


def die_at(write: int, home: str) -> None:
    """Let this process die before its write of that number, counted from 1, to a path below ``home``."""
    at_write(write, home, lambda: os._exit(KILLED))


def pause_at(write: int, home: str) -> None:
    """Let this process stop before its write of that number, until it gets ``SIGCONT``."""
    at_write(write, home, lambda: os.kill(os.getpid(), signal.SIGSTOP))


def at_write(write: int, home: str, act: Callable[[], None], tell: Callable[[int], None] | None = None) -> None:
    """Act before the write of that number; ``tell`` gets the number of each."""
    left = write

    def look(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        writes = event in _WRITES or (event == "open" and isinstance(arguments[2], int) and arguments[2] & _FOR_WRITING)
        if writes and str(arguments[0]).startswith(home):
            left -= 1
            if tell is not None:
                tell(write - left)
            if left == 0:
                act()

    sys.addaudithook(look)
