"""Reading a fleet, a row for each checkpoint."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.batches.read_checkpoints import read_checkpoints
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.storage.store import Store
from tests.batches.fleet_story import FleetStory


def test_checkpoints_with_what_the_rules_find(tmp_path):
    story = FleetStory(tmp_path)
    story.commit("orders", 6)
    store = Store.open(story.location("orders"))
    store.write("offsets/5", b"nonsense")
    stores = [store, Store.open(str(tmp_path / "nothing"))]
    broken, absent = read_checkpoints(stores, deep=False, fails_fast=False, threads=2)
    assert (broken.latest_committed_batch, broken.worst) == (5, "error")
    assert "does not exist" in absent.error
    with pytest.raises(CheckpointError, match="does not exist"):
        list(read_checkpoints(stores, deep=False, fails_fast=True, threads=2))
