"""What must hold of a checkpoint, whatever was done to it."""

from __future__ import annotations

from airflow_provider_ckpt.checkpoint.find_restart_set import find_restart_set
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.storage.store import Store


def assert_complete(checkpoint: Store) -> None:
    """A restart after the newest committed batch finds all that it needs."""
    view = observe(checkpoint, deep=True)
    assert find_restart_set(checkpoint, view, view.latest_committed).missing == ()
