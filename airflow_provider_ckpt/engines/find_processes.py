"""Processes of this machine, each known by its id and the moment of its start; on Linux from /proc."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_MACHINE_ID = Path("/etc/machine-id")
#: Where process ids mean the same on a whole machine: the name of that space is the same on each.
_WHOLE = "pid:[4026531836]"
_MOST_WORDS = 1 << 20


@dataclass(frozen=True, slots=True)
class Process:
    """A process that has not ended.

    Args:
        pid: Its id.
        session: The id of its session, which is that of the process that began the session.
        life: When it was started, in ticks since boot.
        words: Its words.
        parent: The id of the process that has begun it, or that of another one where it has ended.
    """

    pid: int
    session: int
    life: str
    words: tuple[str, ...]
    parent: int = 0


def this_machine() -> str:
    """The host, and on Linux its boot and its space of process ids: containers may share the name of a host."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append((_PROC / "sys/kernel/random/boot_id").read_text().strip())
        parts.append(str((_PROC / "self/ns/pid").readlink()))
    return " ".join(parts)


def machine_key() -> str:
    """``this_machine`` as a digest, behind one of the machine alone where that is known; the same one if it is not."""
    here = this_machine()
    host = here
    with suppress(OSError):
        own, space = _MACHINE_ID.read_text().strip(), str((_PROC / "self/ns/pid").readlink())
        host = f"{socket.gethostname()} {own}" if own and space == _WHOLE else here
    return ".".join(hashlib.sha256(text.encode()).hexdigest()[:12] for text in (host, here))


def is_earlier_boot(there: str, here: str) -> bool:
    """True if a key is that of this machine, as it was before it was booted: no process of then is there."""
    return there != here and there.partition(".")[0] == here.partition(".")[0]


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
                    yield Process(int(entry.name), int(fields[2]), fields[18], words, int(fields[0]))


def directory_of(pid: int) -> str:
    """The directory in which a process works; empty where that cannot be seen."""
    with suppress(OSError):
        return str((_PROC / f"{pid}/cwd").readlink())
    return ""


def _words(entry: Path) -> tuple[str, ...]:
    with (entry / "cmdline").open("rb") as file:
        return tuple(file.read(_MOST_WORDS).decode(errors="replace").split("\0"))
