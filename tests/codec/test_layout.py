"""The grammar of names."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.layout import (
    InitialOffsetFile,
    LogEntry,
    OperatorMetadataFile,
    Other,
    QueryMetadataFile,
    Sidecar,
    SinkLogEntry,
    SourceLogEntry,
    StateFile,
    StateSchemaFile,
    StateStoreId,
    StateTable,
    Temporary,
)

DEFAULT, LEFT = StateStoreId(0, 1), StateStoreId(0, 1, "left-keyToNumValues")
PLACES = {
    "offsets/6": LogEntry("offsets", 6),
    "commits/0": LogEntry("commits", 0),
    "offsets/007": LogEntry("offsets", 7, canonical=False),
    "offsets/+7": LogEntry("offsets", 7, canonical=False),
    "offsets/٧": LogEntry("offsets", 7, canonical=False),
    "offsets/-1": LogEntry("offsets", -1),
    "offsets/1_000": Other(),
    "offsets/ 7": Other(),
    "offsets/9223372036854775808": Other(),
    "offsets/6.tmp": Other(),
    "offsets/notes.crc": Sidecar("offsets/notes", hidden=False),
    "offsets/abc": Other(),
    "offsets/6.json": Other(),
    "offsets/6.compact": Other(),
    "offsets/_6": Other(),
    "offsets/.6": Other(),
    "offsets/6/7": Other(),
    "offsets/.6.crc": Sidecar("offsets/6", hidden=True),
    "offsets/.7.0b1f3a9c.tmp": Temporary(),
    "offsets/..7.0b1f3a9c.tmp.crc": Temporary(),
    "metadata": QueryMetadataFile(),
    ".metadata.crc": Sidecar("metadata", hidden=True),
    "sources/0/-9.compact": SourceLogEntry("0", -9, compact=True),
    "sources/0/9.compact": SourceLogEntry("0", 9, compact=True),
    "sources/orders/3": SourceLogEntry("orders", 3, compact=False),
    "sources/0/offsets/0": InitialOffsetFile("0"),
    "sources/0/offsets/.0.crc": Sidecar("sources/0/offsets/0", hidden=True),
    "sources/0/offsets/1": Other(),
    "sources/0/offsets": Other(),
    "sources/0/commits/0": Other(),
    "sources/0/shard-commit/1": Other(),
    "sources/0/007": Other(),
    "sources/0/rocksdb/7": Other(),
    "_schema_log_abc/0": Other(),
    "_schema_log_abc/.0.0b1f3a9c-0000-4000-8000-000000000001.tmp": Temporary(),
    "_schemas/.notes.tmp": Other(),
    "_schemas/notes.tmp": Other(),
    "_schemas/.hidden": Other(),
    ".0b1f.tmp": Temporary(),
    "_spark_metadata/9.compact": SinkLogEntry(9, compact=True),
    "state/0/1/7.delta": StateFile(DEFAULT, 7, None, "delta"),
    "state/0/1/7.snapshot": StateFile(DEFAULT, 7, None, "snapshot"),
    "state/0/1/7_0b1f-3a9c.zip": StateFile(DEFAULT, 7, "0b1f-3a9c", "zip"),
    "state/0/1/left-keyToNumValues/7.changelog": StateFile(LEFT, 7, None, "changelog"),
    "state/0/1/SSTs/000008-0b1f.sst": StateTable(DEFAULT),
    "state/0/1/left-keyToNumValues/SSTs/000008-0b1f.sst": StateTable(LEFT),
    "state/0/1/7_0b1f.zip.crc": Sidecar("state/0/1/7_0b1f.zip", hidden=False),
    "state/0/1/.7_0b1f.zip.crc.crc": Sidecar("state/0/1/7_0b1f.zip", hidden=True),
    "state/0/1/.7.changelog.0b1f.TID3.tmp": Temporary(),
    "state/0/_metadata/metadata": OperatorMetadataFile(0, None),
    "state/0/_metadata/v2/4": OperatorMetadataFile(0, 4),
    "state/0/1/_metadata/schema": StateSchemaFile(0, None),
    "state/0/_stateSchema/default/4_0b1f": StateSchemaFile(0, 4),
    "state/x/1/7.delta": Other(),
    "state/00/1/7.delta": Other(),
    "state/0/1/07.delta": Other(),
    "state/0/1/\u0667.delta": Other(),
    f"state/0/1/{'9' * 5000}.delta": Other(),  # a manifest can hold such a name
    "state/0/1/left/_metadata/schema": StateSchemaFile(0, None),
    "state/0/1/_metadata/7.delta": Other(),
    "state/0/1//7.delta": Other(),
    "state/0/1/_metadata/schema~": Other(),
    "state/0/1/_metadata/schema (1)": Other(),
    "state/0/1/_metadata/desktop.ini": Other(),
    "state/0/1/_metadata/_temporary/0": Other(),
    "state/0/_stateSchema/default/4_0b1f.bak": Other(),
    "state/0/_stateSchema/default/4": Other(),
    "state/0/_metadata/v2/4_old": Other(),
    "state/0/1/left/right/7.delta": Other(),
    "state/0/0/foo": Other(),
    "state/0/1/SSTs/notes.txt": Other(),
    "state/0/1/SSTs": Other(),
    "state/0/_metadata/v2/04": Other(),
    "": Other(),
    "/": Other(),
}


@pytest.mark.parametrize(("name", "place"), PLACES.items())
def test_names(name, place):
    assert layout.parse(name) == place


def test_sidecars_come_in_the_order_of_deletion():
    """A checksum of a checksum first, so that never a sidecar stands without its object."""
    assert layout.sidecars("state/0/1/7_a.zip") == (
        "state/0/1/.7_a.zip.crc.crc",
        "state/0/1/7_a.zip.crc",
        "state/0/1/.7_a.zip.crc",
    )
    assert layout.sidecars("metadata") == ("..metadata.crc.crc".replace("..", "."), "metadata.crc", ".metadata.crc")


@pytest.mark.parametrize(("store_id", "directory"), [(DEFAULT, "state/0/1"), (LEFT, "state/0/1/left-keyToNumValues")])
def test_a_state_store_knows_its_directory(store_id, directory):
    assert store_id.directory == directory
