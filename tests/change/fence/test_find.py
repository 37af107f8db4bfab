"""When a fence is there, and when no more."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.fence.find import find_fence, required_fence
from airflow_provider_ckpt.change.fence.plan import fence_of
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.fence.make import make_fence
from airflow_provider_ckpt.changes.fence.put_fence import put_fence
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.storage.store import Store


def test_a_fenced_checkpoint_is_sound_and_its_fence_is_found(golden):
    stores = Stores(Store.open(str(golden("agg-hdfs"))))
    assert find_fence(stores) is None
    plan, _ = put_fence(stores, settle_s=0)
    assert find_fence(stores) == make_fence(stores) == plan
    assert [item for item in inspect(stores.checkpoint, deep=True) if item.severity != "note"] == []


@pytest.mark.parametrize("passed_by", ["commits/8", "offsets/9"])
def test_a_fence_that_was_passed_is_none(golden, passed_by):
    checkpoint = golden("agg-hdfs")
    stores = Stores(Store.open(str(checkpoint)))
    put_fence(stores, settle_s=0)
    (checkpoint / passed_by).write_bytes((checkpoint / passed_by.replace("8", "7").replace("9", "8")).read_bytes())
    assert find_fence(stores) is None


def test_an_entry_that_somebody_has_written_again_is_none(golden):
    checkpoint = golden("agg-hdfs")
    stores = Stores(Store.open(str(checkpoint)))
    put_fence(stores, settle_s=0)
    (checkpoint / "offsets/8").write_text("v1\n{}\n-")
    assert find_fence(stores) is None


def test_a_change_requires_the_fence_that_is_there(golden):
    stores = Stores(Store.open(str(golden("agg-hdfs"))))
    with pytest.raises(PlanError, match="this checkpoint is not fenced"):
        required_fence(stores)
    plan, _ = put_fence(stores, settle_s=0)
    assert required_fence(stores).expected == f"offsets/8 {fence_of(plan).sha256}"
