"""Tables of ``checkpoint_history``: a manifest for each epoch of a query, by its id.

The sink refuses an epoch that is there with other rows, so that none is lost: the table has to go back first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_ckpt.checkpoint.sink_marker import SinkCommit, SinkMarker
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.history_table.manifest import visible
from airflow_provider_ckpt.history_table.read import list_places, undone_places
from airflow_provider_ckpt.storage.store import Store

if TYPE_CHECKING:
    from airflow_provider_ckpt.query.sink import Sink


def read(sink: Sink, store: Store, query_id: str, batch_id: int) -> SinkMarker:
    """Read a history table's memory of a query. Raises StoreError."""
    places = list_places(store)
    if not places:
        raise StoreError("is no table of checkpoint_history: it has no manifest below epochs/", location=store.location)
    own = [place for place in visible(places) if place.query_id == query_id]
    commits = tuple(SinkCommit(str(place.epoch), place.epoch, "merge" if place.compact else "epoch") for place in own)
    merged = max((place.epoch for place in own if place.compact), default=-1)  # and all before it are there
    undone = tuple(place.epoch for place in undone_places(store, query_id).values() if place.epoch > merged)
    last = own[-1].epoch if own else None
    return SinkMarker("history", store.location, query_id, last, commits, undone)
