"""What is read of a checkpoint for the rules, also while a query writes to it."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checks.inspect import inspect
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
