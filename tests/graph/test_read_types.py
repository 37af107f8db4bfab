"""What proves a type is read with one small request for each source, and what cannot be read proves nothing."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.graph.read_types import read_types
from airflow_provider_ckpt.storage.store import Store


@pytest.fixture
def make(tmp_path):
    def write(offset: str, **files: bytes) -> Store:
        metadata = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": {}})
        for name, data in {"offsets/0": f"v1\n{metadata}\n{offset}".encode(), **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return Store.open(str(tmp_path))

    return write


LINE = b'\n{"path":"file:///in/a.json","timestamp":1,"batchId":0}'


def types(store: Store) -> dict[str, str]:
    view = observe(store)
    before = store.calls.count
    found = read_types(store, view)
    assert store.calls.count - before <= 2 * len(view.latest_offset_seq.offsets)
    return {source_id: proven.type for source_id, proven in found.items()}


def test_the_beginning_of_a_large_log_is_enough(make):
    assert types(make('{"logOffset":9}', **{"sources/0/9.compact": b"v1" + LINE * 5_000})) == {"0": "file"}


@pytest.mark.parametrize("data", [b"", b"v9\n1", b"v1\n{", b"\xff\xfe", b"v1" + b"x" * 70_000])
def test_damage_proves_nothing(make, data):
    assert types(make('{"logOffset":3}', **{"sources/0/3": data})) == {}


def test_nothing_is_read_of_a_source_of_another_kind(make):
    assert types(make('{"orders":{"0":1}}', **{"sources/0/0": b'\0v1\n{"orders":{"0":0}}'})) == {}


def test_a_real_query_tells(goldens):
    store = Store.open(str(goldens["4.3.0/agg-hdfs"] / "checkpoint"))
    assert types(store) == {"0": "file"}
