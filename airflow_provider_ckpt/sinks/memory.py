"""The sinks that were declared first for the query of a checkpoint, remembered beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass

from airflow_provider_ckpt.checkpoint.find_records import records_of
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import CheckpointNotFoundError, PlanError, StoreError
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.bounded_json import parse_json
from airflow_provider_ckpt.untrusted.secrets import scrub

MEMORY = "sink.json"


#: Bytes of the largest memory that is read.
_MOST = 1 << 16


@dataclass(frozen=True, slots=True)
class Memory:
    """The sinks that were declared first for the query of a checkpoint.

    Args:
        sinks: Their declarations, for people.
        places: Places of the sinks, in one spelling.
        location: Location of the memory itself.
        by: Name of the person or the task that declared them.
    """

    sinks: tuple[str, ...]
    places: frozenset[str]
    location: str
    by: str

    def knows(self, store: Store) -> bool:
        """True if this sink is one of those remembered."""
        return place_of(store) in self.places


def place_of(store: Store) -> str:
    """A location in one spelling: links on a local disk are followed, schemes that mean the same storage are one."""
    if store.is_local:
        return f"file:{os.path.realpath(store.root)}"
    protocol = store.fs.protocol if isinstance(store.fs.protocol, str) else store.fs.protocol[0]
    return f"{protocol}://{store.root}"


def is_remembered(sink: Sink) -> bool:
    """True if only numbers distinguish this sink from another, so that the first one declared must be remembered."""
    return sink.kind == "file" or (sink.kind == "hudi" and not sink.writer)


def memory_of(checkpoint: Store, query_id: str | None) -> Memory | None:
    """The sinks that were declared first; None when none were, or for another query. Raises StoreError."""
    place = _place(checkpoint)
    if place is None:
        return None
    try:
        data = place.read_up_to(MEMORY, _MOST)
    except CheckpointNotFoundError:
        return None
    try:
        fields = parse_json(data)
        memory = Memory(
            tuple(scrub(str(name)) for name in fields["sinks"]),
            frozenset(map(str, fields["places"])),
            f"{place.location}/{MEMORY}",
            str(fields.get("by", "")),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        hint = (
            "Open the file to see which sink was declared, then delete it; the next change records the sink that you "
            "declare."
        )
        raise StoreError(
            "is not a record of the declared sink", location=place.location, name=MEMORY, hint=hint
        ) from None
    return memory if fields.get("query_id") == (query_id or "") else None


def _place(checkpoint: Store) -> Store | None:
    """Where a memory is; nowhere when nothing can lie beside the checkpoint."""
    try:
        return records_of(checkpoint)
    except PlanError:
        return None


def remember(checkpoint: Store, query_id: str | None, sinks: Iterable[tuple[Sink, Store | None]], by: str) -> None:
    """Remember the sinks of a query, unless some are remembered already. Holds the lock: called by changes alone.

    Nothing is remembered unless there is one among them that needs it.
    """
    own = [(sink, store) for sink, store in sinks if sink.kind]
    needed = any(store is not None and is_remembered(sink) for sink, store in own)
    place = _place(checkpoint)
    if not needed or place is None or memory_of(checkpoint, query_id) is not None:
        return
    fields = {
        "query_id": query_id or "",
        "sinks": [sink.at(store).name for sink, store in own],
        "places": sorted(place_of(store) for _, store in own if store is not None),
        "by": by,
        "at_ms": now_ms(),
    }
    place.write(MEMORY, json.dumps(fields, sort_keys=True).encode())
