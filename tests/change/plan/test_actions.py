"""A change opens the checkpoint again by removing its own entry, and never that of a query that slept until then."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.actions import Open
from airflow_provider_ckpt.changes.fence.put_fence import put_fence
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.errors import CheckpointBusyError
from airflow_provider_ckpt.storage.store import Store
from tests.faults import Fault, FaultyStore

WORD = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "unknown"}


def test_the_entry_of_a_query_in_the_place_of_the_closing_one_stays(golden):
    checkpoint = golden("agg-hdfs")
    stores = Stores(Store.open(str(checkpoint)))
    put_fence(stores, settle_s=0)
    plan = make_rollback(stores, 5, fenced=True)
    (closing,) = [action.name for action in plan.actions if isinstance(action, Open)]
    entry = (checkpoint / "offsets/7").read_bytes()

    class Wakes(Fault):
        def hits_object(self, call: str, store: Store, name: str) -> bool:
            if (call, name) == ("delete_if", closing):
                temporary = Path(store.root) / "offsets/.8.0452ff5f-46d2-4629-a6b1-575712dad25a.tmp"
                temporary.write_bytes(entry)
                temporary.rename(checkpoint / closing)
            return False

    with pytest.raises(CheckpointBusyError, match="a query started during the rollback"):
        apply(plan, Stores(FaultyStore.over(str(checkpoint), Wakes())), **WORD)
    assert (checkpoint / closing).read_bytes() == entry
