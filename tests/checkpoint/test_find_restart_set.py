"""The files that a restart needs, read from real checkpoints."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.find_restart_set import find_restart_set
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.storage.store import Store


@pytest.mark.parametrize("case", ["agg-hdfs", "agg-rocksdb"])
@pytest.mark.sweep
def test_a_sound_checkpoint_lacks_nothing(goldens, case):
    store = Store.open(str(goldens[f"4.3.0/{case}"] / "checkpoint"))
    view = observe(store, deep=True)
    assert find_restart_set(store, view, view.latest_committed).missing == ()


def test_a_lost_state_file_is_missed(golden):
    checkpoint = golden("agg-hdfs")
    store = Store.open(str(checkpoint))
    newest = observe(store).latest_committed
    lost = f"state/0/0/{newest + 1}.delta"
    (checkpoint / lost).unlink()
    assert lost in str(find_restart_set(store, observe(store, deep=True), newest).missing)
