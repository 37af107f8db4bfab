"""How a backup under way says what it does: the directory that it claims, its base, and what it takes away again.

The intent is what a prune reads; see :mod:`airflow_provider_ckpt.backup.take` for how the two agree.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count

from airflow_provider_ckpt.backup.catalog import is_own_id, read_manifest
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.checkpoint.own_files import INTENT, is_backup_id
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import (
    BackupCorruptError,
    CheckpointError,
    ObjectExistsError,
    UnsupportedVersionError,
)
from airflow_provider_ckpt.storage.concurrency import THREADS, in_parallel
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import calendar_time
from airflow_provider_ckpt.untrusted.bounded_json import parse_json


def new_backup_id(at_ms: int, query_id: str) -> str:
    """An id that sorts by time and tells the query."""
    at = calendar_time(at_ms)
    return f"{at:%Y%m%dT%H%M%S}.{at_ms % 1000:03d}Z-{query_id[:8]}"


def claim_id(root: Store, others: Collection[str], query_id: str) -> tuple[int, str]:
    """A moment and the id that it gives, which no other backup has: of two that want it one can create the intent.

    One that began in the same millisecond may have finished since the others were listed, and has no intent any more.
    """
    for at_ms in count(now_ms()):
        backup_id = new_backup_id(at_ms, query_id)
        if backup_id not in others:
            intent = f"{backup_id}/{INTENT}"
            with suppress(ObjectExistsError):
                root.create(intent, _intent(""))
                files, directories = root.ls(backup_id)
                if not directories and files.keys() == {intent}:
                    return at_ms, backup_id
                root.delete(intent)
    raise AssertionError("time has no end")


def declare_base(root: Store, others: Iterable[str], backup_id: str, query_id: str, location: str) -> Manifest | None:
    """The newest backup of the same query and location, declared to be in use before it is read for good."""
    candidates = [name for name in others if is_own_id(name) and name.endswith(f"-{query_id[:8]}")]
    for candidate in sorted(candidates, reverse=True):
        with suppress(BackupCorruptError, UnsupportedVersionError):  # nothing to build on, and nothing to stop at
            root.write(f"{backup_id}/{INTENT}", _intent(candidate))
            found = read_manifest(root, candidate)
            if found and (found.query_id, found.location) == (query_id, location):
                return found
    root.write(f"{backup_id}/{INTENT}", _intent(""))
    return None


def _intent(base: str) -> bytes:
    return json.dumps({"base": base}).encode()


def base_of_intent(data: bytes) -> str:
    """The backup that a backup under way may refer to; empty when there is none. Raises ValueError."""
    try:
        base = parse_json(data)["base"]
    except (KeyError, TypeError) as error:
        raise ValueError(f"the intent file is not a JSON object with the key base: {error!r}") from error
    if base != "" and not is_backup_id(base):
        raise ValueError("the intent file names a base that is not a backup id")
    return str(base)


@contextmanager
def nothing_left(root: Store, backup_id: str) -> Iterator[None]:
    """Remove what was copied when no backup comes of it: nothing refers to what never had a manifest."""
    intent = f"{backup_id}/{INTENT}"
    try:
        yield
    except CheckpointError as error:
        try:
            in_parallel(root.delete, [name for name in root.find(backup_id) if name != intent], THREADS)
            root.delete(intent)
            root.remove_empty(backup_id)
        except CheckpointError:
            left = (
                f"The files that were copied remain in {root.location}/{backup_id}; `ckpt prune` deletes them after a "
                "day."
            )
            error.hint = " ".join(filter(None, (error.hint, left)))
        raise
