"""A look at a checkpoint that a query writes to: whatever the moment, what the look shows can be read."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.observe import observe, read_initial_offsets, what_it_is
from airflow_provider_ckpt.errors import CheckpointNotFoundError
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery
from tests.faults import Fault, FaultyStore
from tests.views import METADATA

BATCHES = 3


class Planning(Fault):
    """Lets a query plan and commit its next batch right before one call."""

    def __init__(self, query: FakeQuery, at: int | None = None) -> None:
        super().__init__()
        self.query, self.begins_at = query, at

    def hits(self, call: str, store: Store) -> bool:
        super().hits(call, store)
        if self.calls == self.begins_at:
            self.query.commit(BATCHES)
        return False


def test_a_batch_that_comes_at_any_call_of_a_look_is_read_with_it(tmp_path):
    seen = set()
    calls, at = 1, 0
    while at < calls:
        query = FakeQuery(Store.open(str(tmp_path / f"{at}")))
        for batch_id in range(BATCHES):
            query.commit(batch_id)
        fault = Planning(query, at or None)
        view = observe(FaultyStore.of(query.store, fault), deep=True)
        assert view.latest_offset_seq is not None
        assert view.commit(view.latest_committed) is not None
        seen.add(view.latest_planned)
        calls, at = max(calls, fault.calls), at + 1
    assert calls > 5
    assert seen == {BATCHES - 1, BATCHES}


def test_where_sources_began_is_read_of_kafka_and_of_iceberg(tmp_path):
    iceberg = '{"version":1,"snapshot_id":5,"position":0,"scan_all_files":false}'
    kept = {
        "sources/0/0": b'\0v1\n{"t":{"0":1}}',
        "sources/1/offsets/0": iceberg.encode(),
        "sources/2/offsets/1": b"of another source",
        "sources/3/0": b"",
        "sources/5/commits/0": b"no offset",
    }
    store = Store.open(str(tmp_path))
    for name, data in kept.items():
        store.create(name, data)
    first = codec.decode("offsets/0", b"v1\n{}" + b"\n{}" * 6)
    began = read_initial_offsets(store, first)
    assert [(source_id, offset.json) for source_id, offset in began.offsets] == [
        ("0", '{"t":{"0":1}}'),
        ("1", iceberg),
    ]
    assert read_initial_offsets(store, codec.decode("metadata", METADATA)) is None


def test_an_entry_that_cannot_be_read_is_none_for_who_goes_on_without_it(tmp_path):
    query = FakeQuery(Store.open(str(tmp_path)))
    query.commit(0)
    query.commit(1)
    (tmp_path / "offsets/1").write_bytes(b"")
    view = observe(query.store)
    assert view.readable_offset_seq(0) == view.offset_seq(0)
    assert [view.readable_offset_seq(batch_id) for batch_id in (None, 1, 7)] == [None, None, None]


def test_a_location_with_nothing_may_be_of_a_query_that_has_not_started(tmp_path):
    with pytest.raises(CheckpointNotFoundError, match="does not exist") as refused:
        observe(Store.open(str(tmp_path / "orders")))
    assert refused.value.hint is not None and "A new query makes it at its first start." in refused.value.hint


BACKUP = "20260101T000000.000Z-0a3c26f7"
#: Objects and directories at the top of a directory, and what that is.
LOOKALIKES = [
    ({"metadata"}, {"offsets", "commits"}, None, None),
    (set(), {"commits", "_delta_log"}, None, None),
    (set(), set(), None, None),
    ({"part-0.parquet"}, {"_delta_log"}, "a Delta table", "--sink"),
    (set(), {".hoodie"}, "a Hudi table", "--sink"),
    (set(), {"metadata", "data"}, "an Iceberg table", "--sink iceberg:URI"),
    (set(), {"metadata"}, None, None),
    ({"part-0.parquet"}, {"_spark_metadata"}, "the output directory of a file sink", "--sink file:URI"),
    ({"manifest.json"}, {"checkpoint"}, "a backup", "ckpt restore"),
    ({"manifest.json"}, set(), "a directory of data files", "checkpointLocation"),
    (set(), {"checkpoint"}, None, None),
    (set(), {BACKUP}, "the root of backups", "ckpt backups"),
    (set(), {f"{BACKUP}.old"}, None, None),
    ({"a.csv"}, set(), "a directory of data files", "checkpointLocation"),
    ({"a.csv", "metadata"}, set(), None, None),
    ({"a.exe"}, set(), None, None),
]


@pytest.mark.parametrize(("objects", "directories", "what", "hint"), LOOKALIKES)
def test_what_it_is(objects, directories, what, hint):
    said = what_it_is(objects, directories)
    assert (said and said[0]) == what
    assert said is None or hint in said[1]
