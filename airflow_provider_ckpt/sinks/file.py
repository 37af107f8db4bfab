"""The file sink: it skips every batch up to the newest in the ``_spark_metadata`` of its output directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.sink_log import SinkLog
from airflow_provider_ckpt.sink_marker import SinkCommit, SinkMarker
from airflow_provider_ckpt.store import Store

if TYPE_CHECKING:
    from airflow_provider_ckpt.sinks import DeclaredSink


def read_file_sink(store: Store) -> SinkLog:
    """List the ``_spark_metadata`` of a file sink's output directory."""
    objects, _ = store.ls(layout.SINK_LOG)
    return SinkLog(store.location, objects)


def read(sink: DeclaredSink, store: Store, query_id: str, batch_id: int) -> SinkMarker:
    """What a file sink remembers; of any query, because it goes by its directory alone."""
    log = read_file_sink(store)
    entries = sorted(log.entries.items(), key=lambda item: item[0].batch_id)
    commits = tuple(SinkCommit(name, entry.batch_id) for entry, name in entries)
    return SinkMarker("file", log.location, last_batch=log.latest, commits=commits)
