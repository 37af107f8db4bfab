"""Removing a file of a disk as long as it is a certain one, also beside a writer that renames its own over the name.

A disk has no such call: who checks and then unlinks may unlink what was renamed to that name in between. So the file is
renamed aside first, which takes exactly what is there; then it is checked, and gets its name back when it is another
one, unless that is taken by then. The name aside begins with a dot and ends with ``.tmp``, so that Spark passes over
it; it tells which file was meant, so that what a kill has left is known: that file goes, another one comes back.
"""

from __future__ import annotations

import os
import re
import uuid
from contextlib import suppress
from pathlib import Path

from airflow_provider_ckpt.storage.local import stat

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ASIDE = re.compile(rf"\.(?P<name>.+)\.(?P<meant>{_UUID})\.aside\.tmp\Z")


def remove_if(path: str, identity: str) -> bool:
    """Remove a file as long as it is the one with this identity, or is gone; else return False, and it stays."""
    aside = _aside_of(path, identity)
    settle(aside)
    seen = stat(path, "")
    if seen is None:
        return True
    if seen.identity != identity:
        return False
    try:
        os.rename(path, aside)  # noqa: PTH104  # thousands of files of state go in this way
    except FileNotFoundError:
        return True
    return settle(aside)


def settle(aside: str) -> bool:
    """End what was begun: remove what is aside, or give it its name back when it is not the file that was meant.

    Where a third file has got that name by then, it stays aside. Returns whether it was the one that was meant, or
    nothing is aside.
    """
    directory, _, base = aside.rpartition("/")
    match = _ASIDE.match(base)
    seen = stat(aside, "") if match is not None else None
    if match is None or seen is None:
        return True
    is_meant = _mark(seen.identity) == match["meant"]
    if is_meant or _give_back(aside, f"{directory}/{match['name']}"):
        with suppress(FileNotFoundError):
            os.unlink(aside)  # noqa: PTH108  # as above
    return is_meant


def asides_in(directory: str) -> list[str]:
    """Names that killed runs have left aside in a directory; empty when there is no directory."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return sorted(f"{directory}/{name}" for name in os.listdir(directory) if _ASIDE.match(name))  # noqa: PTH208  # names
    return []


def is_aside(name: str, of: str) -> bool:
    """True if a name is the one that an object got when it was renamed aside."""
    directory, _, base = of.rpartition("/")
    at, _, aside = name.rpartition("/")
    match = _ASIDE.match(aside)
    return match is not None and (at, match["name"]) == (directory, base)


def _give_back(aside: str, path: str) -> bool:
    """Give a file its name, and say whether it has it now."""
    try:
        os.link(aside, path)
    except FileExistsError:
        return Path(path).samefile(aside)
    return True


def _aside_of(path: str, identity: str) -> str:
    directory, _, name = path.rpartition("/")
    return f"{directory}/.{name}.{_mark(identity)}.aside.tmp"


def _mark(identity: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, identity))
