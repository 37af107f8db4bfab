"""The executor: what it leaves of directories and copies, and faults of the storage."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record.journal import STAGED_OBJECTS, history
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.sources.make import make_source_change
from airflow_provider_ckpt.changes.sources.source_change import parse_change
from airflow_provider_ckpt.codec.offset_log import CLOSING
from airflow_provider_ckpt.errors import PlanError, StalePlanError, StoreError
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import read_all
from tests.faults import Fault, FaultyStore, calls_to_fail

STOPPED: dict[str, Any] = {"query_is_stopped": True, "quiet_s": 0}
CHANGE = parse_change(["0=1", "1=new"], ["0"])
NAMES = parse_change(["a=1", "b=0"], [])
SWAPPED = parse_change(["0=1", "1=0"], [])


def test_nothing_is_left_of_what_was_laid_ready_and_no_empty_directory_of_a_source_that_is_gone(golden):
    place = golden("two-sources")
    stores = Stores(Store.open(str(place)))
    plan = make_source_change(stores, NAMES)
    apply(plan, stores, **STOPPED)
    assert sorted(path.name for path in (place / "sources").iterdir()) == ["a", "b"]
    record = stores.record(plan.plan_id)
    assert not record.child(STAGED_OBJECTS).find()
    assert [change.state for change in history(stores.checkpoint)] == ["applied"]


#: Calls that fail, of some hundreds: all of them with CKPT_EXHAUSTIVE.
SAMPLES = {"local": 10, "s3": 1}


@pytest.fixture
def opened(request, tmp_path):
    """Opens a location on a disk, or in S3; and how many calls fail there."""
    if request.param == "s3":
        s3_store = request.getfixturevalue("s3_store")
        return s3_store, SAMPLES["s3"]
    return lambda name: Store.open(str(tmp_path / name)), SAMPLES["local"]


def change(checkpoint: Store) -> None:
    """Give the sources names; where that was done and nobody saw it, the plan is found and nothing is done."""
    plan = make_source_change(Stores(checkpoint), NAMES)
    apply(plan, Stores(checkpoint), **STOPPED)


def undo(checkpoint: Store) -> None:
    """Take that back."""
    try:
        plan = make_undo(Stores(checkpoint))
    except PlanError as error:
        assert "no change that can be undone" in error.message
        return
    apply(plan, Stores(checkpoint), **STOPPED)


@pytest.mark.parametrize(
    ("opened", "act"),
    [
        ("local", change),
        ("local", undo),
        pytest.param("s3", change, marks=pytest.mark.s3),
        pytest.param("s3", undo, marks=[pytest.mark.s3, pytest.mark.exhaustive]),
    ],
    indirect=["opened"],
)
def test_after_a_fault_at_any_call_it_is_closed_or_whole_and_the_same_command_completes_it(golden, opened, act):
    open_store, samples = opened
    files = read_all(Store.open(str(golden("two-sources"))))
    before = files if samples > 1 else {name: data for name, data in files.items() if not name.endswith(".crc")}

    def prepared(name: str) -> FaultyStore:
        store = FaultyStore.of(open_store(f"{name}/orders"), Fault())
        for file, data in before.items():
            store.write(file, data)
        if act is undo:
            change(store)
        return store

    store = prepared("counted")
    store.fault = counted = Fault()
    act(store)
    wanted = read_all(open_store("counted/orders"))
    assert (wanted == before) == (act is undo)
    for at in calls_to_fail(counted.calls, samples):
        store = prepared(f"round-{at}")
        began = read_all(store)
        store.fault = Fault(at, after=bool(at % 2))
        with suppress(StoreError):  # that a lock cannot be given back is no error
            act(store)
        store.fault = Fault()
        now = read_all(store)
        assert now in (began, wanted) or now.get("offsets/4") == CLOSING, f"call {at}"
        act(store)
        assert read_all(store) == wanted, f"completed after call {at}"


def test_a_file_that_is_not_what_was_planned_is_not_moved(golden):
    place = golden("two-sources")
    stores = Stores(Store.open(str(place)))
    plan = make_source_change(stores, CHANGE)
    (place / "sources/1/3").write_bytes((place / "sources/1/3").read_bytes().replace(b"v1", b"v2"))
    before = read_all(stores.checkpoint)
    with pytest.raises(Exception, match="changed since the plan was made|is not the one"):
        apply(plan, stores, **STOPPED)
    assert read_all(stores.checkpoint) == before


def test_it_is_undone_also_when_the_query_has_compacted_the_logs_of_its_sources_since(golden):
    place = golden("two-sources")
    checkpoint = Store.open(str(place))
    before = read_all(checkpoint)
    apply(make_source_change(Stores(checkpoint), SWAPPED), Stores(checkpoint), **STOPPED)
    entry = checkpoint.read("offsets/3").decode()
    (batch,) = set(re.findall(r'"logOffset":(\d+)', entry))
    checkpoint.write("offsets/4", entry.replace(f'"logOffset":{batch}', f'"logOffset":{int(batch) + 1}').encode())
    checkpoint.write("commits/4", checkpoint.read("commits/3"))
    for source in ("0", "1"):
        checkpoint.write(f"sources/{source}/{int(batch) + 1}.compact", checkpoint.read(f"sources/{source}/{batch}"))
    apply(make_undo(Stores(checkpoint)), Stores(checkpoint), **STOPPED, accept_sink="unknown duplicated skipped")
    assert read_all(checkpoint) == before


def test_what_came_into_a_closed_checkpoint_is_named_and_the_change_is_completed_without_it(golden):
    checkpoint = Store.open(str(golden("two-sources")))
    plan = make_source_change(Stores(checkpoint), NAMES)

    def stop(done: int, total: int, name: str) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(plan, Stores(checkpoint), **STOPPED, on_step=stop)
    assert checkpoint.read("offsets/4") == CLOSING
    checkpoint.write("sources/9.x", b"x")
    with pytest.raises(StalePlanError, match=r"sources/9\.x") as refused:
        make_source_change(Stores(checkpoint), NAMES)
    assert "closed by this change" in (refused.value.hint or "")
    checkpoint.delete("sources/9.x")
    change(checkpoint)
    assert "offsets/4" not in read_all(checkpoint)
