"""Processes of this machine, each known by its id and the moment of its start; on Linux from /proc."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_MOST_WORDS = 1 << 20


@dataclass(frozen=True, slots=True)
class Process:
    """A process that has not ended.

    Args:
        pid: Its id.
        session: The id of its session, which is that of the process that began the session.
        life: When it was started, in ticks since boot.
        words: Its words.
    """

    pid: int
    session: int
    life: str
    words: tuple[str, ...]


def this_machine() -> str:
    """The host, and on Linux its boot and its space of process ids: containers may share the name of a host."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append((_PROC / "sys/kernel/random/boot_id").read_text().strip())
        parts.append(str((_PROC / "self/ns/pid").readlink()))
    return " ".join(parts)


def life_of(pid: int) -> str:
    """When a process was started, in ticks since boot; empty where that cannot be seen, ``ended`` for a zombie."""
    with suppress(OSError, IndexError):
        state, *fields = (_PROC / f"{pid}/stat").read_text().rpartition(")")[2].split()
        return "ended" if state in "ZX" else fields[18]
    return ""


def find_processes() -> Iterator[Process]:
    """The processes that have not ended. Raises OSError where the system does not tell."""
    for entry in _PROC.iterdir():
        if entry.name.isdecimal():
            with suppress(OSError, IndexError, ValueError):  # it has ended meanwhile
                state, *fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if state not in "ZX":
                    words = _words(entry)
                    yield Process(int(entry.name), int(fields[2]), fields[18], words)


def _words(entry: Path) -> tuple[str, ...]:
    with (entry / "cmdline").open("rb") as file:
        return tuple(file.read(_MOST_WORDS).decode(errors="replace").split("\0"))
