"""Checkpoints for planners: listings and entries made up for a test, without a disk."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Sequence

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import Encodable
from airflow_provider_ckpt.storage.stored_object import StoredObject

QUERY_ID = "7f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"
METADATA = json.dumps({"id": QUERY_ID}).encode()


def listed(*names: str) -> dict[str, StoredObject]:
    """A listing; the identity of each object is made of its name."""
    return {name: StoredObject(name, len(name), 1, f"etag of {name}") for name in names}


def offset_entry(log_offset: int | None = None, partitions: int | None = None, **conf: str) -> bytes:
    """An entry of the offset log of one source; ``log_offset`` is where the log of a file source stands."""
    own = {} if partitions is None else {"spark.sql.shuffle.partitions": str(partitions)}
    metadata = {"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": {**own, **conf}}
    offset = {"offset": 1} if log_offset is None else {"logOffset": log_offset}
    return f"v1\n{json.dumps(metadata)}\n{json.dumps(offset)}".encode()


def decoded(**contents: bytes) -> dict[str, Encodable]:
    """Entries that were read, by name."""
    return {name: codec.decode(name, data) for name, data in contents.items()}


def view_of(*names: str, **contents: bytes) -> CheckpointView:
    """A checkpoint of a known query with these files, of which some were read."""
    read = {"metadata": METADATA, **contents}
    return CheckpointView("c", 0, listed(*dict.fromkeys((*names, *contents))), decoded(**read), complete=True)


def sink_of(*entries: str) -> SinkLog:
    """The log of a file sink with these entries."""
    return SinkLog("out", listed(*(f"_spark_metadata/{entry}" for entry in entries)))


def schema_file(
    version: int = 2,
    key: tuple[tuple[str, str], ...] = (("k", "string"),),
    value: tuple[tuple[str, str], ...] = (("v", "long"),),
) -> bytes:
    """The schema of a state store with these columns; of version 3 one without column families."""
    if version == 3:
        return _utf("v3") + struct.pack(">i", 0)
    return _utf(f"v{version}") + b"".join(
        struct.pack(">i", 1) + _utf(_struct_type(columns)) for columns in (key, value)
    )


def operator_file(name: str, version: int = 1, paths: Sequence[str] = (), store: str = "default") -> bytes:
    """What a stateful operator says of itself: its name, and one store with the places of its schemas."""
    own = {"storeName": store, "numColsPrefixKey": 0, "numPartitions": 1, "stateSchemaFilePaths": list(paths)}
    fields = {"operatorInfo": {"operatorId": 0, "operatorName": name}, "stateStoreInfo": [own]}
    return f"v{version}\n{json.dumps(fields | {'operatorPropertiesJson': ''})}".encode()


def snapshot_file(**tables: int) -> bytes:
    """A RocksDB zip that refers to these tables, by the names of their files, and says how large they are."""
    files = [
        {"localSstFileName": "x", "dfsSstFileName": f"{name}.sst", "sizeBytes": size} for name, size in tables.items()
    ]
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("metadata", f"v1\n{json.dumps({'sstFiles': files})}")
    return data.getvalue()


def changelog_file(*lineage: tuple[int, str]) -> bytes:
    """A changelog of state checkpoint format 2, not compressed: versions before it with their unique ids."""
    items = [{"version": version, "checkpointUniqueId": unique_id} for version, unique_id in lineage]
    return _utf("v3") + _utf(json.dumps(items))


def _struct_type(columns: tuple[tuple[str, str], ...]) -> str:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns]
    return json.dumps({"type": "struct", "fields": fields})


def _utf(text: str) -> bytes:
    return struct.pack(">H", len(text.encode())) + text.encode()
