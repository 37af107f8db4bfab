"""Reads a sink's memory of the batches that it has seen: one module a format, loaded when it is needed."""

from __future__ import annotations

from importlib import import_module

from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.query.sink import MARKING, Sink
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.secrets import scrub


def read_marker(sink: Sink, store: Store | None, query_id: str | None, batch_id: int) -> SinkMarker:
    """Read a sink's memory of a query.

    Args:
        sink: The sink.
        store: The store of its ``directory``; None when it has none.
        query_id: Id of the query.
        batch_id: How far back to search: to the newest batch up to this one.

    Raises:
        StoreError: It cannot be read.
    """
    if store is None and sink.kind in MARKING:
        raise StoreError(
            f"the {sink.kind} sink was declared, but its location was not given to open", location=sink.location
        )
    if sink.kind not in MARKING:
        return SinkMarker(sink.kind, scrub(sink.location))
    marker: SinkMarker = import_module(f"{__package__}.{sink.kind}").read(sink, store, query_id or "", batch_id)
    return marker
