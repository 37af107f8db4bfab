"""What is read of a checkpoint for the rules, also while a query writes to it."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.inspect import find_restorable, inspect
from airflow_provider_ckpt.errors import CheckpointMovedError, ObjectNotFoundError
from airflow_provider_ckpt.storage.store import Store


class PurgedStore(Store):
    """A store in which one object is gone when it is read, as often as ``purges`` says; then it is there again."""

    purges = 0
    gone = "offsets/1"

    def read(self, name: str) -> bytes:
        if name == self.gone and self.purges:
            self.purges -= 1
            raise ObjectNotFoundError("no such object", location=self.location, name=name)
        return super().read(name)


def test_a_file_that_spark_purges_meanwhile_is_no_finding(golden):
    store = PurgedStore.open(str(golden("agg-hdfs")))
    store.purges = 2
    assert inspect(store, deep=True) == ()


def test_a_store_that_lists_what_is_not_there_is_an_error_at_last(golden):
    store = PurgedStore.open(str(golden("agg-hdfs")))
    store.purges = 100
    with pytest.raises(CheckpointMovedError, match="offsets/1: a query is running"):
        inspect(store, deep=True)


@pytest.mark.parametrize(("case", "damage", "read", "unread"), [
    ("agg-hdfs", "state/0/0/3.delta", [], [0, 1, 4, 5, 6, 7]), ("file-to-parquet-5", "offsets/2", [0, 1, 4], []),
])  # fmt: skip
def test_each_batch_is_told_by_what_is_known_of_it(golden, monkeypatch, case, damage, read, unread):
    """Where state is not read, a batch with all of its files is not known to be whole; a query without state is."""
    monkeypatch.setattr("airflow_provider_ckpt.checks.inspect.MOST_READ", 0)
    checkpoint = golden(case)
    (checkpoint / damage).unlink()
    store = Store.open(str(checkpoint))
    found = find_restorable(store, observe(store, deep=True), 2)
    assert (sorted(found.whole), sorted(found.unread), sorted(found.lacking)) == (read, unread, [2, 3])


def test_batches_far_away_are_not_looked_at(golden, monkeypatch):
    monkeypatch.setattr("airflow_provider_ckpt.checks.inspect.MOST_TRIED", 2)
    store = Store.open(str(golden("agg-hdfs")))
    view = observe(store, deep=True)
    found = find_restorable(store, view, view.latest_committed)
    assert len(found.whole) == 2 and sorted([*found.whole, *found.untried]) == list(view.committed)
