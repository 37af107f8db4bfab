"""Which checkpoints of real Spark can be fenced, and when a fence is there already."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.fence.plan import fence_of
from airflow_provider_ckpt.change.option import fields_of
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.fence.make import FenceRequest, make_fence
from airflow_provider_ckpt.changes.fence.put_fence import put_fence
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.errors import CheckpointClosedError, CheckpointError, PlanError, StoreUnavailableError
from airflow_provider_ckpt.storage.store import Store
from tests.faults import Fault, FaultyStore

REFUSED = {
    "4.3.0/agg-real-time": "realTime",
    "4.3.0/async-progress": "async progress tracking",
    "4.3.0/continuous": "continuous processing",
}


def test_every_golden_but_those_of_other_modes_has_a_fence_with_its_own_offsets(goldens):
    for case in (case for case in goldens if case.startswith("4.3.0/")):
        store = Store.open(str(goldens[case] / "checkpoint"))
        try:
            plan = make_fence(Stores(store))
        except PlanError as error:
            assert REFUSED.get(case, "refused without a reason") in error.message, case
            continue
        assert case not in REFUSED
        newest = observe(store).latest_committed
        assert (plan.batch_id, fence_of(plan).name) == (newest, f"offsets/{newest + 1}"), case


@pytest.mark.parametrize(
    ("case", "in_flight", "told"),
    [
        ("agg-hdfs", False, "before the fence and after it: state/0/0/8.delta is missing"),
        ("agg-rocksdb-changelog", False, "before the fence and after it: state/0/0/8.changelog is missing"),
        ("agg-hdfs", True, "as it is: state/0/0/7.delta is missing"),
    ],
)
def test_a_query_that_is_lost_already_is_said_to_be(golden, case, in_flight, told):
    checkpoint = golden(case)
    if in_flight:
        _without_commit(checkpoint)
    for file in checkpoint.glob(f"state/0/0/{7 if in_flight else 8}.*"):
        file.unlink()
    stores = Stores(Store.open(str(checkpoint)))
    plan = make_fence(stores)
    assert any(
        text.startswith(f"Spark does not start from this checkpoint{',' * (not in_flight)} {told}")
        for text in plan.warnings
    )
    assert ("does not run" in plan.effects[0].reason) != in_flight
    assert any("as an empty one and goes on" in text for text in plan.warnings) == in_flight
    assert not any(told in text for text in make_fence(stores, state=False).warnings)


def test_a_batch_that_runs_and_has_written_no_state_yet_is_no_loss(golden):
    checkpoint = golden("agg-hdfs")
    _without_commit(checkpoint)
    for file in checkpoint.glob("state/0/*/8.*"):
        file.unlink()
    assert not any("does not start" in text for text in make_fence(Stores(Store.open(str(checkpoint)))).warnings)


def _without_commit(checkpoint: Path) -> None:
    """The newest batch is in flight."""
    for name in ("7", ".7.crc"):
        (checkpoint / "commits" / name).unlink()


def test_a_trigger_that_was_declared_counts_where_files_say_nothing(golden):
    stores = Stores(Store.open(str(golden("real-time"))))
    assert make_fence(stores).batch_id == 3
    with pytest.raises(PlanError, match="realTime"):
        make_fence(stores, trigger="realTime")
    put_fence(stores, settle_s=0)
    for act in (make_fence, put_fence):
        with pytest.raises(PlanError, match="continuous"):
            act(stores, trigger="continuous")


def test_a_change_that_was_interrupted_is_completed_first(golden):
    checkpoint = golden("agg-hdfs")
    store = FaultyStore.over(str(checkpoint), Fault())
    plan = make_rollback(Stores(store), 5)
    word = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "unknown"}

    class Second(Fault):
        def hits(self, call: str, place: Store) -> bool:
            self.calls += call == "delete_if"
            return self.calls == 2 and call == "delete_if"

    store.fault = Second()
    with pytest.raises(StoreUnavailableError):
        apply(plan, Stores(store), **word)
    with pytest.raises(PlanError, match="a rollback of this checkpoint was interrupted") as told:
        make_fence(Stores(Store.open(str(checkpoint))))
    assert "ckpt undo" in (told.value.hint or "")


def test_what_another_change_has_closed_is_left_to_it(golden):
    checkpoint = golden("agg-hdfs")
    (checkpoint / "offsets/8").write_bytes(b"v2147483647\n" + _closing_text())
    with pytest.raises(CheckpointClosedError):
        make_fence(Stores(Store.open(str(checkpoint))))


def _closing_text() -> bytes:
    from airflow_provider_ckpt.codec.offset_log import CLOSING

    return CLOSING.partition(b"\n")[2]


def test_a_damaged_entry_is_named(golden):
    checkpoint = golden("agg-hdfs")
    (checkpoint / "offsets/7").write_text("garbage")
    with pytest.raises(CheckpointError) as told:
        make_fence(Stores(Store.open(str(checkpoint))))
    assert told.value.name == "offsets/7"
    assert json.dumps(told.value.message)


def test_each_field_of_the_request_is_an_option_as_users_have_typed_it():
    assert {name: field.opt.option for name, field in fields_of(FenceRequest).items()} == {
        "wait_for_batch": "--wait-for-batch",
        "trigger": "--trigger",
    }
