"""Whether a declared sink is that of the query: compared with its logs, and with the sink that was declared first.

What numbers cannot tell apart is remembered in ``<parent>/_ckpt_undo/<name>/sink.json``, beside the lock, by commands
that change something; all others compare alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass

from airflow_provider_ckpt.bounded_json import parse_json
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.confs import SHUFFLE_PARTITIONS
from airflow_provider_ckpt.errors import CheckpointNotFoundError, PlanError, StoreError
from airflow_provider_ckpt.lifecycle import records
from airflow_provider_ckpt.lifecycle.observing import now_ms, read_entries
from airflow_provider_ckpt.sink_fit import Misfit, Standing, misfit, misfit_of_backup
from airflow_provider_ckpt.sink_marker import SinkMarker
from airflow_provider_ckpt.sinks import DeclaredSink
from airflow_provider_ckpt.store import Store
from airflow_provider_ckpt.view import CheckpointView

MEMORY = "sink.json"
#: Bytes of the largest memory that is read.
_MOST = 1 << 16


@dataclass(frozen=True, slots=True)
class Memory:
    """The sinks that were declared first for the query of a checkpoint.

    Args:
        sinks: Their declarations, for people.
        places: Where they are, in one spelling.
        location: Of the memory itself.
        by: Who declared them.
    """

    sinks: tuple[str, ...]
    places: frozenset[str]
    location: str
    by: str

    def knows(self, store: Store) -> bool:
        """Whether a sink is one of them."""
        return place_of(store) in self.places


def place_of(store: Store) -> str:
    """A location in one spelling: links on a local disk are followed, schemes that mean the same storage are one."""
    if store.is_local:
        return f"file:{os.path.realpath(store.root)}"
    protocol = store.fs.protocol if isinstance(store.fs.protocol, str) else store.fs.protocol[0]
    return f"{protocol}://{store.root}"


def is_remembered(sink: DeclaredSink) -> bool:
    """Whether numbers alone tell a sink from another one, so that the first that was declared has to be remembered."""
    return sink.kind == "file" or (sink.kind == "hudi" and not sink.writer)


def memory_of(checkpoint: Store, query_id: str | None) -> Memory | None:
    """The sinks that were declared first; None when none were, or for another query. Raises StoreError."""
    place = records.records_of(checkpoint)
    try:
        data = place.read_up_to(MEMORY, _MOST)
    except CheckpointNotFoundError:
        return None
    try:
        fields = parse_json(data)
        memory = Memory(
            tuple(map(str, fields["sinks"])),
            frozenset(map(str, fields["places"])),
            f"{place.location}/{MEMORY}",
            str(fields.get("by", "")),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        hint = "Look at it, and remove it if the sink that the query writes to is known otherwise."
        raise StoreError("is no memory of a sink", location=place.location, name=MEMORY, hint=hint) from None
    return memory if fields.get("query_id") == (query_id or "") else None


def remember(
    checkpoint: Store, query_id: str | None, sinks: Iterable[tuple[DeclaredSink, Store | None]], by: str
) -> None:
    """Remember the sinks of a query, unless some are remembered already. Holds the lock: called by changes alone."""
    own = [(sink, store) for sink, store in sinks if store is not None and is_remembered(sink)]
    if not own or memory_of(checkpoint, query_id) is not None:
        return
    fields = {
        "query_id": query_id or "",
        "sinks": [sink.at(store).name for sink, store in own],
        "places": sorted(place_of(store) for _, store in own),
        "by": by,
        "at_ms": now_ms(),
    }
    records.records_of(checkpoint).write(MEMORY, json.dumps(fields, sort_keys=True).encode())


# --- refusing ------------------------------------------------------------------------------------------------------


def require_fit(
    checkpoint: Store,
    undo: Store | None,
    view: CheckpointView,
    sink: DeclaredSink,
    store: Store | None,
    marker: SinkMarker,
) -> None:
    """Raise PlanError for a sink that is not that of the query.

    Args:
        checkpoint: The checkpoint.
        undo: Root of its records; None for the directory beside it.
        view: The checkpoint as it is now.
        sink: The sink, as it was declared.
        store: Of its directory; None when it has none.
        marker: What it remembers of the query.
    """
    if store is None:
        return
    known = _require_remembered(checkpoint, view.query_id, sink, store)
    now = Standing(last_written(checkpoint, view), view.latest_planned)
    before = [
        Standing(record.from_batch, record.from_batch + 1)
        for record in records.history(checkpoint, undo)
        if record.from_batch is not None
    ]
    _refuse(misfit(marker, now, before, known=known), checkpoint, sink, store)


def require_fit_of_backup(
    target: Store, query_id: str, batch_id: int, sink: DeclaredSink, store: Store | None, marker: SinkMarker
) -> None:
    """Raise PlanError for a sink that is not that of the query whose backup is restored under its own id."""
    if store is None:
        return
    _require_remembered(target, query_id, sink, store)
    _refuse(misfit_of_backup(marker, batch_id), target, sink, store)


def _refuse(found: Misfit | None, checkpoint: Store, sink: DeclaredSink, store: Store) -> None:
    if found is not None:
        raise PlanError(
            f"the sink {sink.at(store).name} does not fit the query: it {found.reason}.",
            location=checkpoint.location,
            hint=f"Nothing was changed. {found.hint}",
        )


def _require_remembered(checkpoint: Store, query_id: str | None, sink: DeclaredSink, store: Store) -> bool:
    """Whether a sink is remembered. Raises PlanError when another one is."""
    if not is_remembered(sink):
        return False
    memory = memory_of(checkpoint, query_id)
    if memory is None:
        return False
    if not memory.knows(store):
        raise PlanError(
            f"the sink {sink.at(store).name} is not the one that was declared first for this checkpoint, which "
            f"is {' and '.join(memory.sinks)}{f' (declared by {memory.by})' if memory.by else ''}.",
            location=checkpoint.location,
            hint="Nothing was changed. When the query has been given another sink on purpose, remove "
            f"{memory.location}.",
        )
    return True


def last_written(checkpoint: Store, view: CheckpointView) -> int | None:
    """The newest committed batch that the sink was given: a batch that repartitions the state is not given to it."""
    batch = view.latest_committed
    while batch is not None and _repartitions(checkpoint, batch):
        batch = max((other for other in view.committed if other < batch), default=None)
    return batch


def _repartitions(checkpoint: Store, batch_id: int) -> bool:
    """Whether the shuffle partitions changed with a batch; only Spark's repartition can change them."""
    decoded, _ = read_entries(checkpoint, (batch_id - 1, batch_id))
    entries = [entry for entry in decoded.values() if isinstance(entry, OffsetSeq) and entry.metadata]
    partitions = [entry.metadata.conf.get(SHUFFLE_PARTITIONS) for entry in entries if entry.metadata]
    return len(partitions) == 2 and partitions[0] != partitions[1]
