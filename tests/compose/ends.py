"""What a run has left behind, and what else the machine did meanwhile."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterable
from pathlib import Path

#: A run that takes longer fails when the machine did little else.
LIMIT_S = 600.0
#: Of the machine's time.
LITTLE = 0.1
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def processes_of(home: Path) -> list[str]:
    """Living processes whose variables or directory are below a directory, but for this one."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                seen = (entry / "environ").read_bytes() + os.fsencode((entry / "cwd").readlink())
                if os.fsencode(home) in seen:
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200])
    return found


def open_ports(addresses: Iterable[str]) -> list[str]:
    """Which of some addresses somebody listens on."""
    found = []
    for address in sorted({*addresses}):
        host, _, port = address.rpartition(":")
        with socket.socket() as client:
            if client.connect_ex((host, int(port))) == 0:
                found.append(address)
    return found


def see_that_all_have_ended(home: Path, addresses: Iterable[str]) -> None:
    """No process and no port is left."""
    left = [*processes_of(home), *open_ports(addresses)]
    assert not left, f"these are left behind: {left}"


class Watch:
    """The time since it was made, and how much of it others had of the machine."""

    def __init__(self) -> None:
        self._began, self._busy, self._own = time.monotonic(), _busy_s(), _own_s()

    def seconds(self) -> float:
        """How long it runs."""
        return time.monotonic() - self._began

    def others(self) -> float:
        """The part of all processors' time that went to others than this process and those that it has waited for."""
        spent = (_busy_s() - self._busy) - (_own_s() - self._own)
        return max(spent, 0.0) / (self.seconds() * (os.cpu_count() or 1))

    def verdict(self) -> str:
        """The time in words. Raises TimeoutError when it was too long on a machine that did little else."""
        seconds, others = self.seconds(), self.others()
        said = f"{seconds:.1f} s in all; others had {others:.0%} of the machine meanwhile"
        if seconds > LIMIT_S and others < LITTLE:
            raise TimeoutError(f"{said}: more than {LIMIT_S:.0f} s")
        return said


def _busy_s() -> float:
    """Time of all processors that was not idle, since the start of the machine."""
    user, nice, system, _, _, *interrupts = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9])
    return (user + nice + system + sum(interrupts)) / TICKS_A_SECOND


def _own_s() -> float:
    """Time of processors of this process and of the children that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system
