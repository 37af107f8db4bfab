"""What is offered for a declaration: where the logs of sources say that they read from, said to be read and not declared."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.sources.offer import hint_of, offers_of
from airflow_provider_ckpt.storage.store import Store

FILES = b'v1\n{"path":"file:///in/day=1/a%20b.json","timestamp":1,"batchId":0}'


@pytest.fixture
def store(tmp_path):
    def write(**logs: bytes) -> Store:
        for name, data in logs.items():
            path = tmp_path / "sources" / name.removeprefix("s") / "0"
            path.parent.mkdir(parents=True)
            path.write_bytes(data)
        return Store.open(str(tmp_path))

    return write


def test_a_file_source_names_its_directory(store):
    assert offers_of(store(s0=FILES)) == {"0": "file:/in"}


def test_what_is_offered_is_said_to_be_read(store):
    said = hint_of(store(s0=FILES), option="--source ")
    assert said.endswith("Read from their logs in the checkpoint, not declared: --source 0=file:/in")


def test_kafka_is_offered_with_the_other_source_that_writes_the_same(store):
    said = hint_of(store(s0=b'\0v1\n{"orders":{"0":0}}'))
    assert "0=kafka:HOST:PORT/orders" in said and "Event Hubs" in said


def test_without_a_log_there_is_an_example(store):
    assert "such as 0=kafka:host:9092" in hint_of(store())
    assert "such as 0=kafka:host:9092" in hint_of(None)
