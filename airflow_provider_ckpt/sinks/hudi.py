"""Hudi tables: the streaming checkpoint in the metadata of commits.

Spark's sink searches for the newest completed commit that names its identifier, and skips every batch up to
the one there. The identifier is the same for all queries unless they set
``hoodie.datasource.write.streaming.checkpoint.identifier``.
Commits are JSON up to table version 6 and Avro from 8 on.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.checkpoint.sink_marker import SinkCommit, SinkMarker
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.bounded_json import parse_json
from airflow_provider_ckpt.untrusted.limits import TABLE_METADATA_BYTES, size_text

if TYPE_CHECKING:
    from airflow_provider_ckpt.query.sink import Sink

CHECKPOINT = "_hudi_streaming_sink_checkpoint"
DEFAULT_IDENTIFIER = "default_single_writer"
_HOODIE = ".hoodie"
#: ``<instant>.commit``, or with its completion time ``<instant>_<completed>.commit``.
_COMPLETED = re.compile(r".+/(\d{14,17})(?:_\d+)?\.(?:commit|deltacommit|replacecommit)")
_AVRO = b"Obj\x01"


def read(sink: Sink, store: Store, query_id: str, batch_id: int) -> SinkMarker:
    """Read a Hudi table's memory of an identifier; it ignores the query id. Raises StoreError."""
    identifier = sink.writer or DEFAULT_IDENTIFIER
    files = {**store.ls(_HOODIE)[0], **store.ls(f"{_HOODIE}/timeline")[0]}
    if f"{_HOODIE}/hoodie.properties" not in files:
        raise StoreError("is not a Hudi table: it has no .hoodie/hoodie.properties", location=store.location)
    instants = sorted(((match[1], name) for name in files if (match := _COMPLETED.fullmatch(name))), reverse=True)
    last: int | None = None
    made_of: list[SinkCommit] = []
    for instant, name in instants:
        batch, operation = _parse(store, name, identifier)
        last = batch if last is None else last
        made_of.append(SinkCommit(instant, batch, operation))
        if batch is not None and batch <= batch_id:
            break
    return SinkMarker("hudi", store.location, identifier, last, tuple(reversed(made_of)))


def _parse(store: Store, name: str, identifier: str) -> tuple[int | None, str]:
    """The batch of a commit, and its operation."""
    data = store.read_up_to(name, TABLE_METADATA_BYTES + 1)
    try:
        if len(data) > TABLE_METADATA_BYTES:
            raise ValueError(f"it is larger than {size_text(TABLE_METADATA_BYTES)}")
        fields = _avro(data, store) if data.startswith(_AVRO) else parse_json(data)
        checkpoint = (fields.get("extraMetadata") or {}).get(CHECKPOINT)
        batch = parse_json(checkpoint).get(identifier) if checkpoint else None
        return None if batch is None else int(batch), fields.get("operationType") or ""
    except (ValueError, TypeError, AttributeError, RecursionError, EOFError) as error:
        raise StoreError(f"cannot be read: {error}", location=store.location, name=name) from error


def _avro(data: bytes, store: Store) -> Any:
    try:
        import fastavro
    except ImportError as error:
        hint = "pip install 'spark-ckpt[hudi]'"
        raise StoreError(
            "its commits are in Avro, which ckpt does not read", location=store.location, hint=hint
        ) from error
    return next(iter(fastavro.reader(io.BytesIO(data))))
