"""Iceberg tables: the query id and the epoch in the summaries of snapshots.

Spark's sink goes from the current snapshot to its parents until it meets one of the query, and skips every epoch up to
that one. A rollback of the table moves the current snapshot, so it moves the marker, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.checkpoint.sink_marker import SinkCommit, SinkMarker
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.tables.iceberg import ancestors_of, current_metadata

if TYPE_CHECKING:
    from airflow_provider_ckpt.query.sink import Sink

QUERY_ID, EPOCH_ID = "spark.sql.streaming.queryId", "spark.sql.streaming.epochId"


def read(sink: Sink, store: Store, query_id: str, batch_id: int) -> SinkMarker:
    """Read an Iceberg table's memory of a query. Raises StoreError."""
    metadata = current_metadata(store, sink.metadata_file)
    last: int | None = None
    made_of: list[SinkCommit] = []
    ancestors = set()
    for snapshot in ancestors_of(metadata, store):
        ancestors.add(snapshot.snapshot_id)
        batch = _batch_of(snapshot, query_id)
        last = batch if last is None else last
        operation = snapshot.summary.operation.value if snapshot.summary else ""
        made_of.append(SinkCommit(str(snapshot.snapshot_id), batch, operation))
    others = (_batch_of(other, query_id) for other in metadata.snapshots if other.snapshot_id not in ancestors)
    undone = tuple(batch for batch in others if batch is not None)
    return SinkMarker(
        kind="iceberg",
        location=sink.location,
        writer=query_id,
        last_batch=last,
        commits=tuple(reversed(made_of)),
        undone=undone,
    )


def _batch_of(snapshot: Any, query_id: str) -> int | None:
    summary = snapshot.summary
    if summary is None or summary.get(QUERY_ID) != query_id or summary.get(EPOCH_ID) is None:
        return None
    return int(summary[EPOCH_ID])
