"""Iceberg tables: the query id and the epoch in the summaries of snapshots.

Spark's sink walks from the current snapshot to its parents until it meets one of the query, and skips every epoch up to
that one. A rollback of the table moves the current snapshot, so it moves the marker, too.
"""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.sink_marker import SinkCommit, SinkMarker
from airflow_provider_ckpt.store import Store

if TYPE_CHECKING:
    from airflow_provider_ckpt.sinks import DeclaredSink

QUERY_ID, EPOCH_ID = "spark.sql.streaming.queryId", "spark.sql.streaming.epochId"
METADATA = "metadata"
_HINT = f"{METADATA}/version-hint.text"
#: ``v7.metadata.json`` of a Hadoop table, ``00007-<uuid>.metadata.json`` of a catalog's, either also gzipped.
_NAME = re.compile(rf"{METADATA}/(?:v(\d+)|(\d{{5,}})-.+?)(?:\.gz)?\.metadata\.json")


def read(sink: DeclaredSink, store: Store, query_id: str, batch_id: int) -> SinkMarker:
    """What an Iceberg table remembers of a query. Raises StoreError."""
    metadata = current_metadata(store, sink.metadata_file)
    snapshot = metadata.snapshot_by_id(metadata.current_snapshot_id) if metadata.current_snapshot_id else None
    last: int | None = None
    made_of: list[SinkCommit] = []
    ancestors = set()
    while snapshot is not None:
        ancestors.add(snapshot.snapshot_id)
        batch = _batch_of(snapshot, query_id)
        last = batch if last is None else last
        operation = snapshot.summary.operation.value if snapshot.summary else ""
        made_of.append(SinkCommit(str(snapshot.snapshot_id), batch, operation))
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else metadata.snapshot_by_id(parent)
    others = (_batch_of(other, query_id) for other in metadata.snapshots if other.snapshot_id not in ancestors)
    undone = tuple(batch for batch in others if batch is not None)
    return SinkMarker("iceberg", sink.location, query_id, last, tuple(reversed(made_of)), undone)


def current_metadata(store: Store, metadata_file: str = "") -> Any:
    """The metadata of a table, of the file that was declared or of the newest. Raises StoreError."""
    return _parse(store, metadata_file or _current(store))


def _batch_of(snapshot: Any, query_id: str) -> int | None:
    summary = snapshot.summary
    if summary is None or summary.get(QUERY_ID) != query_id or summary.get(EPOCH_ID) is None:
        return None
    return int(summary[EPOCH_ID])


def _current(store: Store) -> str:
    """Name of the current metadata file: what the version hint of a Hadoop table says, else the newest number."""
    objects = store.ls(METADATA)[0]
    numbers = {name: int(match[1] or match[2]) for name in objects if (match := _NAME.fullmatch(name))}
    hint = store.read(_HINT).decode(errors="replace").strip() if _HINT in objects else ""
    newest = int(hint) if hint.isdecimal() else max(numbers.values(), default=-1)
    chosen = [name for name, number in numbers.items() if number == newest]
    if len(chosen) != 1:
        found = "no metadata file" if not chosen else f"{len(chosen)} metadata files of version {newest}"
        raise StoreError(
            f"has {found}; the catalog alone knows which one is current",
            location=store.location,
            hint="Declare the metadata file: iceberg:<URI of the metadata.json>.",
        )
    return chosen[0]


def _parse(store: Store, name: str) -> Any:
    try:
        from pyiceberg.exceptions import ValidationError
        from pyiceberg.table.metadata import TableMetadataUtil
    except ImportError as error:
        hint = "pip install 'airflow-provider-ckpt[iceberg]'"
        raise StoreError("Iceberg tables need pyiceberg", location=store.location, hint=hint) from error
    data = store.read(name)
    try:
        text = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
        return TableMetadataUtil.parse_raw(text.decode())
    except (ValueError, OSError, EOFError, ValidationError) as error:
        raise StoreError(f"cannot be read: {error}", location=store.location, name=name) from error
