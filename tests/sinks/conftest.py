"""Tables that real Spark wrote, unpacked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.sinks.read_marker import read_marker
from airflow_provider_ckpt.storage.store import Store
from tests.goldens import unpack

RECORDED = Path(__file__).parents[1] / "data" / "sinks"


@pytest.fixture
def recorded(tmp_path) -> Callable[[str], Path]:
    """Unpacks a recorded table: a directory with ``table/`` and ``checkpoint/metadata``."""
    return lambda name: unpack(RECORDED / f"{name}.tar.gz", tmp_path / name)


@pytest.fixture
def marker_of(recorded) -> Callable[..., SinkMarker]:
    """What a recorded table remembers of the query that wrote it."""

    def read(name: str, batch_id: int, kind: str, after: str = "") -> SinkMarker:
        home = recorded(name)
        query_id = json.loads((home / "checkpoint" / "metadata").read_text())["id"]
        return marker(f"{kind}:{home / 'table'}{after}", query_id, batch_id)

    return read


def marker(declared: str, query_id: str, batch_id: int, **options: str) -> SinkMarker:
    """What a declared sink remembers of a query."""
    sink = parse_sink(declared)
    store = None if sink.directory is None else Store.open(sink.directory, **options)
    return read_marker(sink, store, query_id, batch_id)
