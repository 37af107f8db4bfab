"""A change that is planned behind a fence: when the fence is put, and when not."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.changes.fence import put_fence as module
from airflow_provider_ckpt.changes.fence.put_first import plan_behind
from airflow_provider_ckpt.changes.rollback.goal import ToBatch
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery, read_all
from tests.stopping import stop_after

WORD = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "unknown"}


@pytest.fixture
def stores(tmp_path, monkeypatch) -> Stores:
    monkeypatch.setattr(module, "SETTLE_ON_DISK_S", 0.0)
    query = FakeQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(5):
        query.commit(batch_id)
    return Stores(query.store)


def refuse() -> None:
    raise PlanError("not fenced")


def planned(stores, *, acts, **more):
    def make(fenced):
        return make_rollback(stores, ToBatch(2), fenced=fenced)

    return plan_behind(make, stores, acts=acts, unfenced=refuse, by="ann", **more)


def test_the_fence_is_put_before_the_plan_is_made_which_requires_it(stores):
    told = []
    plan, fenced = planned(stores, acts=True, tell=told.append)
    assert fenced and plan.fence is not None
    assert [(item.plan.kind, item.state, item.by) for item in history(stores.checkpoint)] == [
        ("fence", "applied", "ann")
    ]
    assert told[-1].startswith(
        "The checkpoint is fenced behind batch 4, by offsets/5. If this ends before the change is"
    )
    assert told[-1].endswith(f"or take it back: ckpt undo {stores.checkpoint.location}")
    assert apply(plan, stores, quiet_s=0, accept_sink="unknown").status == "applied"


def test_where_nothing_is_carried_out_only_a_fence_that_is_there_is_used(stores):
    before = read_all(stores.checkpoint)
    with pytest.raises(PlanError, match="not fenced"):
        planned(stores, acts=False)
    assert read_all(stores.checkpoint) == before
    planned(stores, acts=True)
    plan, fenced = planned(stores, acts=False)
    assert fenced and plan.fence is not None


def test_nothing_is_fenced_for_a_change_that_was_carried_out(stores):
    plan = make_rollback(stores, ToBatch(2))
    apply(plan, stores, **WORD)
    assert plan_behind(lambda fenced: plan, stores, acts=True, unfenced=refuse) == (plan, False)
    assert [item.plan.kind for item in history(stores.checkpoint)] == ["rollback"]


@pytest.mark.parametrize("acts", [True, False])
def test_a_change_that_is_asked_for_again_has_nothing_to_do_and_is_not_fenced(stores, acts):
    """Its plan is made anew, without a step: a second fence would be a batch that has to be dropped."""
    plan, _ = planned(stores, acts=True)
    apply(plan, stores, quiet_s=0, accept_sink="unknown")
    before = read_all(stores.checkpoint)
    again, fenced = planned(stores, acts=acts)
    assert (again.actions, fenced) == ((), False)
    assert apply(again, stores, quiet_s=0).status == "already_applied"
    assert read_all(stores.checkpoint) == before
    assert [item.plan.kind for item in history(stores.checkpoint)] == ["fence", "rollback"]


def test_a_change_that_was_interrupted_is_completed_as_it_was_begun(stores):
    with pytest.raises(KeyboardInterrupt):
        apply(make_rollback(stores, ToBatch(2)), stores, on_step=stop_after(2), **WORD)
    plan, fenced = planned(stores, acts=True)
    assert (fenced, plan.fence) == (False, None)
    assert [item.plan.kind for item in history(stores.checkpoint)] == ["rollback"]


def test_what_is_required_ends_it_before_anything_is_written(stores):
    before = read_all(stores.checkpoint)
    with pytest.raises(PlanError, match="not fenced"):
        planned(stores, acts=True, require=refuse)
    assert (read_all(stores.checkpoint), history(stores.checkpoint)) == (before, ())
