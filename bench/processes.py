"""What a tree of processes costs: CPU seconds and memory, from ``/proc``."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def tree(root: int) -> list[int]:
    """A process and all below it."""
    parents = {pid: _stat(pid)[1] for pid in _pids()}
    found = [root]
    for pid in found:  # which grows meanwhile
        found += [child for child, parent in parents.items() if parent == str(pid)]
    return found


def cpu_s(root: int) -> float:
    """CPU seconds of a process, of all below it, and of those of them that have ended."""
    return sum(sum(map(int, _stat(pid)[11:15])) for pid in tree(root)) / _TICKS


def peak_python_mib(root: int) -> float:
    """The most memory that one Python process below a process has held, MiB."""
    peaks = [0.0]
    for pid in tree(root)[1:]:
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            continue
        fields = dict(line.split(":", 1) for line in lines)
        if "python" in fields["Name"]:
            peaks.append(int(fields["VmHWM"].split()[0]) / 1024)
    return max(peaks)


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def _stat(pid: int) -> list[str]:
    """The fields after the name of the command: state, parent, …"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return ["Z", "0", *["0"] * 40]
