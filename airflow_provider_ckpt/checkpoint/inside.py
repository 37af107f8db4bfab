"""Checkpoints of other queries that are inside a checkpoint: nothing of them is of the query around them.

Spark takes any directory for a checkpoint, one inside another too. The query of the inner one runs and stops by itself,
so what it writes is no sign of the outer query, and belongs in no backup of that.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from airflow_provider_ckpt.checkpoint.own_files import DATA, DROPPED, INTENT, MANIFEST, UNDO_DIRECTORY
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.storage.packed import PackedObjects

_LOGS = (layout.OFFSETS, layout.COMMITS)
#: Where no checkpoint of another query is.
_NOT_ENTERED = tuple(f"{name}/" for name in (layout.OFFSETS, layout.COMMITS, UNDO_DIRECTORY))
#: Where sources and operators have files of their own: a checkpoint there shows by its id as well, and is in none of
#: the directories with the number of a source, an operator or a partition. Of millions of state files no more is asked
#: than what their names hold.
_OF_OTHERS = tuple(f"{name}/" for name in layout.TOP_DIRECTORIES if f"{name}/" not in _NOT_ENTERED)
_IN_LOG = tuple(f"/{name}/" for name in _LOGS)
_NUMBERED = re.compile(r"[^/]+(?:/\d+)+")
_BACKUP = (MANIFEST, INTENT, DROPPED)


def without_inside(objects: PackedObjects) -> tuple[PackedObjects, tuple[str, ...]]:
    """Split a listing into the checkpoint's own objects and the outermost directories of checkpoints inside it.

    Records of changes of an inner checkpoint, which are beside it, count as part of it. A backup that is inside is
    none: it is a copy. A directory counts by an entry of the offset or the commit log; in the directories of Spark
    that sources and operators write to, it has to have the id of its query, too.
    """
    named = {root for name in objects if (root := _root_of(name)) and not _is_backup(root, objects)}
    found = sorted(root for root in named if not root.startswith(_OF_OTHERS) or _has_id(root, objects))
    roots: list[str] = []
    for root in found:
        if not roots or not root.startswith(f"{roots[-1]}/"):
            roots.append(root)
    if not roots:
        return objects, ()
    below = _prefixes(roots)
    own = PackedObjects(stored for name, stored in objects.items() if not name.startswith(below))
    return own, tuple(roots)


def is_inside(name: str, roots: Collection[str]) -> bool:
    """True if a file or directory belongs to one of these checkpoints, or to the records of its changes."""
    return f"{name}/".startswith(_prefixes(roots))


def _prefixes(roots: Collection[str]) -> tuple[str, ...]:
    records = {f"{root.rpartition('/')[0]}/{UNDO_DIRECTORY}".lstrip("/") for root in roots}
    return tuple(f"{place}/" for place in (*roots, *records))


def _root_of(name: str) -> str | None:
    """The checkpoint that an entry of a log is of, relative to the outer one; None for any other name."""
    if name.startswith(_NOT_ENTERED) or (name.startswith(_OF_OTHERS) and not any(log in name for log in _IN_LOG)):
        return None
    directory, _, base = name.rpartition("/")
    root, _, log = directory.rpartition("/")
    if log not in _LOGS or not root:
        return None
    parsed = layout.parse(f"{log}/{base}")
    return root if isinstance(parsed, layout.LogEntry) and parsed.canonical else None


def _has_id(root: str, objects: PackedObjects) -> bool:
    return not _NUMBERED.fullmatch(root) and f"{root}/{layout.METADATA}" in objects


def _is_backup(root: str, objects: PackedObjects) -> bool:
    above, _, base = root.rpartition("/")
    return base == DATA and any(f"{above}/{name}".lstrip("/") in objects for name in _BACKUP)
