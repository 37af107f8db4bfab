"""The executor: what it leaves of directories and copies, and faults of the storage."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import Any

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.journal import STAGED_OBJECTS, history
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.errors import PlanError, StoreError
from airflow_provider_ckpt.source_changes.make import make_source_change
from airflow_provider_ckpt.source_changes.request import parse_change
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import read_all
from tests.faults import Fault, FaultyStore, calls_to_fail

STOPPED: dict[str, Any] = {"query_is_stopped": True, "quiet_s": 0}
CHANGE = parse_change(["0=1", "1=new"], ["0"])
NAMES = parse_change(["a=1", "b=0"], [])


def test_nothing_is_left_of_what_was_laid_ready_and_no_empty_directory_of_a_source_that_is_gone(golden):
    place = golden("two-sources")
    stores = Stores(Store.open(str(place)))
    plan = make_source_change(stores, NAMES)
    apply(plan, stores, **STOPPED)
    assert sorted(path.name for path in (place / "sources").iterdir()) == ["a", "b"]
    record = stores.record(plan.plan_id)
    assert not record.child(STAGED_OBJECTS).find()
    assert [change.state for change in history(stores.checkpoint)] == ["applied"]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_fault_of_the_storage_leaves_what_the_same_command_completes(golden, tmp_path, after):
    place = golden("two-sources")
    whole = tmp_path / "whole" / "checkpoint"
    shutil.copytree(place, whole)
    counted = Fault()
    store = FaultyStore.open(str(whole))
    store.fault = counted
    apply(make_source_change(Stores(store), NAMES), Stores(store), **STOPPED)
    wanted = read_all(Store.open(str(whole)))
    for at in calls_to_fail(counted.calls, 12):
        copy = tmp_path / str(at) / "checkpoint"
        shutil.copytree(place, copy)
        store = FaultyStore.open(str(copy))
        store.fault = Fault(at, after=after)
        with suppress(StoreError):  # of a lock that cannot be given back nothing is said
            apply(make_source_change(Stores(store), NAMES), Stores(store), **STOPPED)
        sound = Stores(Store.open(str(copy)))
        try:
            apply(make_source_change(sound, NAMES), sound, **STOPPED, break_lock=True)
        except PlanError as error:
            assert "was carried out already" in error.message
        assert read_all(sound.checkpoint) == wanted


def test_a_file_that_is_not_what_was_planned_is_not_moved(golden):
    place = golden("two-sources")
    stores = Stores(Store.open(str(place)))
    plan = make_source_change(stores, CHANGE)
    (place / "sources/1/3").write_bytes((place / "sources/1/3").read_bytes().replace(b"v1", b"v2"))
    before = read_all(stores.checkpoint)
    with pytest.raises(Exception, match="changed since the plan was made|is not the one"):
        apply(plan, stores, **STOPPED)
    assert read_all(stores.checkpoint) == before
