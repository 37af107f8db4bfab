"""Beginning the log of a file sink in a new and empty directory, before the checkpoint of the fork is there."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_ckpt.change.new_place.make import being_written, is_of
from airflow_provider_ckpt.change.plan.actions import Create
from airflow_provider_ckpt.changes.restore.plan import entries_before
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.storage.store import Store


def find_new(sinks: Sequence[tuple[Sink, Store | None]], batch_id: int) -> Store | None:
    """The first file sink whose directory is empty, or holds nothing but the entries up to a batch that begin its log.

    Raises StoreError when one cannot be read.
    """
    files = (store for sink, store in sinks if sink.kind == "file" and store is not None)
    return next((store for store in files if _is_new(store, entries_before(batch_id))), None)


def _is_new(store: Store, entries: Sequence[Create]) -> bool:
    objects, folders = store.ls()
    if objects or set(folders) - {layout.SINK_LOG}:
        return False
    wanted = {entry.name: entry for entry in entries}
    return all(is_of(wanted, stored, store) for stored in store.find(layout.SINK_LOG).values())


def open_sink_log(entries: Sequence[Create], store: Store) -> int:
    """Write the entries that are not there yet, and clear away what an earlier run left half written.

    Returns the number of entries written.
    """
    there = store.find(layout.SINK_LOG)
    lacking = [entry for entry in entries if entry.name not in there]
    for entry in lacking:
        store.require_inside(entry.name)
        store.create(entry.name, entry.data.encode())
    for name in there:
        if being_written(name) in {entry.name for entry in entries}:
            store.delete(name)
    store.flush()
    return len(lacking)
