"""Which metadata file of an Iceberg table is the current one, and from which snapshots the current one comes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.tables.iceberg import ancestors_of, current_metadata, read_history
from airflow_provider_ckpt.tables.iceberg_history import Expiry, History, Snapshot
from airflow_provider_ckpt.untrusted.limits import TABLE_METADATA_BYTES


def text_of(table_id: str) -> str:
    """The metadata of an empty table; its id says which file it is of."""
    schema = {"type": "struct", "schema-id": 0, "fields": []}
    return json.dumps(
        {
            "format-version": 2, "table-uuid": f"00000000-0000-0000-0000-{table_id:0>12}", "location": "/t",
            "last-sequence-number": 0, "last-updated-ms": 1, "last-column-id": 0, "schemas": [schema],
            "current-schema-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}], "default-spec-id": 0,
            "last-partition-id": 999, "sort-orders": [{"order-id": 0, "fields": []}], "default-sort-order-id": 0,
        }
    )  # fmt: skip


def table_with(home: Path, **files: str | bytes) -> Store:
    (home / "metadata").mkdir()
    for name, data in files.items():
        (home / "metadata" / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return Store.open(str(home))


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        ({"v1.metadata.json": "1", "v2.metadata.json": "2"}, "2"),
        ({"v1.metadata.json": "1", "v10.metadata.json": "10", "v9.metadata.json": "9"}, "10"),
        ({"00001-a.metadata.json": "1", "00002-b.metadata.json": "2"}, "2"),
        ({"v1.metadata.json": "1", "v2.metadata.json": "2", "version-hint.text": None}, "1"),
        ({"00003-a.gz.metadata.json": "3", "00002-b.metadata.json": "2"}, "3"),
        ({"v1.metadata.json": "1", "snap-5.avro": "9", "00009.json": "9"}, "1"),
    ],
)
def test_the_current_file_is_that_of_the_hint_or_of_the_newest_number(tmp_path, files, chosen):
    content = {
        name: b"1\n"
        if table_id is None
        else gzip.compress(text_of(table_id).encode())
        if ".gz." in name
        else text_of(table_id)
        for name, table_id in files.items()
    }
    found = current_metadata(table_with(tmp_path, **content))
    assert str(found.table_uuid).endswith(f"{chosen:0>12}")


def test_a_file_that_is_declared_is_read_whatever_is_newer(tmp_path):
    store = table_with(tmp_path, **{"v1.metadata.json": text_of("1"), "v2.metadata.json": text_of("2")})
    assert str(current_metadata(store, "metadata/v1.metadata.json").table_uuid).endswith("1")


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"not json", b"[" * 100_000, b"\x1f\x8b\x08", gzip.compress(bytes(TABLE_METADATA_BYTES + 1))],
    ids=["empty", "an empty object", "no JSON", "deep", "cut gzip", "gzip bomb"],
)
def test_damaged_metadata_is_an_error_that_names_the_file(tmp_path, data):
    with pytest.raises(StoreError, match="cannot be read") as raised:
        current_metadata(table_with(tmp_path, **{"v1.metadata.json": data}))
    assert raised.value.name == "metadata/v1.metadata.json"


def snapshots(*parents: tuple[int, int | None], current: int | None) -> SimpleNamespace:
    listed = [SimpleNamespace(snapshot_id=number, parent_snapshot_id=parent) for number, parent in parents]
    return SimpleNamespace(snapshots=listed, current_snapshot_id=current)


@pytest.mark.parametrize(
    ("metadata", "ids"),
    [
        (snapshots(current=None), []),
        (snapshots((1, None), (2, 1), (3, 2), current=3), [3, 2, 1]),
        (snapshots((1, None), (2, 1), (3, 1), current=3), [3, 1]),
        (snapshots((2, 1), (3, 2), current=3), [3, 2]),
    ],
    ids=["empty table", "in a row", "rolled back", "expired parent"],
)
def test_ancestors_are_followed_as_far_as_they_are_kept(tmp_path, metadata, ids):
    assert [found.snapshot_id for found in ancestors_of(metadata, Store.open(str(tmp_path)))] == ids


def test_a_snapshot_that_comes_from_itself_is_an_error(tmp_path):
    with pytest.raises(StoreError, match="snapshot 2 is its own ancestor"):
        list(ancestors_of(snapshots((1, 2), (2, 1), current=2), Store.open(str(tmp_path))))


# --- the snapshots as values -----------------------------------------------------------------------------------------


def snapshot(snapshot_id: int, parent_id: int | None, **summary: str) -> dict:
    return {
        "snapshot-id": snapshot_id, "sequence-number": snapshot_id, "timestamp-ms": snapshot_id * 1_000,
        "manifest-list": "/t/m.avro", "summary": {"operation": "append", **summary},
        **({} if parent_id is None else {"parent-snapshot-id": parent_id}),
    }  # fmt: skip


def history_of(home: Path, properties: dict[str, str] | None = None, **refs: dict) -> History:
    """Snapshots 1, 2 and 3 of the main branch, and 9, which was rolled back after 1."""
    told = {"added-data-files": "2", "added-records": "10", "added-files-size": "500", "total-data-files": "4"}
    removed = {"operation": "delete", "deleted-data-files": "1", "deleted-records": "3", "added-position-deletes": "4"}
    metadata = json.loads(text_of("1")) | {
        "last-sequence-number": 9,
        "current-snapshot-id": 3,
        "snapshots": [snapshot(1, None, **told), snapshot(9, 1), snapshot(2, 1, **removed), snapshot(3, 2)],
        "properties": properties or {},
        "refs": {"main": {"snapshot-id": 3, "type": "branch"}} | refs,
    }
    home.mkdir()
    return read_history(table_with(home, **{"v1.metadata.json": json.dumps(metadata)}))


def test_a_history_is_the_main_branch_with_what_each_snapshot_says(tmp_path):
    history = history_of(tmp_path / "t")
    assert [item.snapshot_id for item in history.snapshots] == [3, 2, 1] and list(history.others) == [9]
    assert history.find(1) == Snapshot(1, None, 1_000, "append", 2, 10, 500, total_files=4)
    assert history.find(2) == Snapshot(2, 1, 2_000, "delete", removed_files=1, removed_rows=7)
    assert history.expiry == Expiry() and history.is_whole


@pytest.mark.parametrize("text", ["", "-1", "1.5", "x", "9" * 30, "٣"])
def test_what_is_no_number_is_not_said(tmp_path, text):
    assert history_of(tmp_path / "t", {"history.expire.max-snapshot-age-ms": text}).expiry == Expiry()


def test_what_is_kept_is_said_by_the_main_branch_then_by_the_table(tmp_path):
    properties = {"history.expire.max-snapshot-age-ms": "60000", "history.expire.min-snapshots-to-keep": "7"}
    assert history_of(tmp_path / "a", properties).expiry == Expiry(60_000, 7)
    main = {"snapshot-id": 3, "type": "branch", "max-snapshot-age-ms": 5_000, "min-snapshots-to-keep": 2}
    tag = {"snapshot-id": 1, "type": "tag"}
    assert history_of(tmp_path / "b", properties, main=main, kept=tag).expiry == Expiry(5_000, 2, frozenset({1}))
