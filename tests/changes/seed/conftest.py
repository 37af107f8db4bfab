"""A checkpoint to seed from, an empty location, and a sink that has seen batches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_ckpt.query.sink import Sink, parse_sink
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_query import KafkaQuery


@pytest.fixture
def query(tmp_path: Path) -> KafkaQuery:
    """Three committed batches."""
    query = KafkaQuery(tmp_path / "old")
    for end in (10, 20, 30):
        query.commit({"t": {"0": end}})
    return query


@pytest.fixture
def old(query: KafkaQuery) -> Store:
    return Store.open(str(query.checkpoint))


@pytest.fixture
def target(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path / "new"))


@pytest.fixture
def files(tmp_path: Path) -> Callable[[int], list[tuple[Sink, Store]]]:
    """A file sink that has seen some batches."""

    def sink(last: int) -> list[tuple[Sink, Store]]:
        log = tmp_path / "out" / "_spark_metadata"
        log.mkdir(parents=True, exist_ok=True)
        for batch in range(last + 1):
            (log / str(batch)).write_text("v1")
        return [(parse_sink(f"file:{tmp_path}/out"), Store.open(str(tmp_path / "out")))]

    return sink
