"""Reading the index of a fleet; one that was read already is not read again."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from threading import Lock

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import CheckpointNotFoundError, MalformedEntryError
from airflow_provider_ckpt.fleet.index import FleetIndex, decode
from airflow_provider_ckpt.storage.store import Store

_NAME = re.compile(r"fleet-([0-9]{13})\.jsonl\Z")
#: A name that is further in the future than this is of a host whose clock is wrong, and does not count; milliseconds.
_CLOCKS_DIFFER_MS = 3_600_000


class IndexReader:
    """The newest index of a directory, kept between requests: a listing says whether there is a newer one.

    An index is never changed once it is written, so its name is enough to know it again. Several threads may ask.
    """

    def __init__(self) -> None:
        self._kept: tuple[str, str, FleetIndex] | None = None
        self._lock = Lock()

    def read(self, store: Store) -> FleetIndex | None:
        """The newest index; None when there is none.

        Raises:
            MalformedEntryError: It is no index, or not one of this version.
            StoreError: The directory cannot be listed.
        """
        names = list_indexes(store)
        if not names:
            return None
        with self._lock:  # of several that ask at once, one reads
            if self._kept is None or self._kept[:2] != (store.location, names[-1]):
                index = _read(store, names[-1])
                before = [began for began in map(_began_at_ms, names) if began < index.began_at_ms]
                self._kept = (store.location, names[-1], replace(index, before_ms=max(before, default=None)))
            return self._kept[2]


def _read(store: Store, name: str) -> FleetIndex:
    name, data = _newest(store, name)
    try:
        return decode(data)
    except ValueError as error:
        raise MalformedEntryError(
            f"{error}.", location=store.location, name=name, hint="`ckpt fleet ROOT... --index URL` writes it anew."
        ) from None


def _newest(store: Store, name: str) -> tuple[str, bytes]:
    try:
        return name, store.read(name)
    except CheckpointNotFoundError:  # two newer ones were written since the listing
        newest = list_indexes(store)[-1:]
        if not newest or newest == [name]:
            raise
        return newest[0], store.read(newest[0])


def index_name(began_at_ms: int) -> str:
    """The name of an index, by which it sorts."""
    return f"fleet-{began_at_ms:013d}.jsonl"


def _began_at_ms(name: str) -> int:
    return int(name.removeprefix("fleet-").removesuffix(".jsonl"))


def list_indexes(store: Store) -> list[str]:
    """The names of the indexes of a directory, the newest last; one request for a thousand."""
    return _that_count(store.ls()[0], now_ms())


def _that_count(names: Collection[str], at_ms: int) -> list[str]:
    found = {name: match for name in names if (match := _NAME.match(name))}
    return sorted(name for name, match in found.items() if int(match[1]) <= at_ms + _CLOCKS_DIFFER_MS)
