"""Which committed batch ``--batch`` and ``--at`` name."""

from __future__ import annotations

import click
import pytest

from airflow_provider_ckpt.cli.changes.committed_batch import committed_batch
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_query import FIRST_MS, KafkaQuery


@pytest.fixture
def store(tmp_path) -> Store:
    query = KafkaQuery(tmp_path / "orders")
    for end in (10, 20, 30):
        query.commit({"t": {"0": end}})
    query.plan({"t": {"0": 40}})
    return Store.open(str(query.checkpoint))


@pytest.mark.parametrize(
    ("batch_id", "at_ms", "named"),
    [(None, None, None), (1, None, 1), (None, FIRST_MS, 0), (None, FIRST_MS + 1, 1), (None, FIRST_MS + 99, 2)],
)
def test_the_batch_that_is_named(store, batch_id, at_ms, named):
    """The planned batch began by the last time, and does not count."""
    assert committed_batch(store, batch_id, at_ms) == named


def test_no_batch_began_by_then(store):
    with pytest.raises(BatchNotRestorableError, match="no committed batch in the logs began at or before"):
        committed_batch(store, None, FIRST_MS - 1)


def test_not_both(store):
    with pytest.raises(click.UsageError, match="give --batch or --at, not both"):
        committed_batch(store, 1, FIRST_MS)
