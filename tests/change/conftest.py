"""A checkpoint for a change."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery


@pytest.fixture
def stores(tmp_path) -> Stores:
    """Of a query with the batches 0 to 3."""
    query = FakeQuery(Store.open(str(tmp_path / "checkpoint")))
    for batch_id in range(4):
        query.commit(batch_id)
    return Stores(query.store)
