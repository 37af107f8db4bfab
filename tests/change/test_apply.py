"""One function carries out the plans of every kind, and a reader can follow the plan through it."""

from __future__ import annotations

import os

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.errors import PlanError, StalePlanError, StoreError
from airflow_provider_ckpt.storage.store import Store
from tests.change.plans import RESTORE, STOPPED
from tests.faults import Fault, FaultyStore
from tests.walks import MOST, given


def way_of(plan: Plan, stores: Stores) -> list[str]:
    """The functions that get a plan while it is carried out, without its own properties: they are the plan itself."""
    way = given(plan, lambda: apply(plan, stores, **STOPPED))
    return [name for name in way if not name.startswith(f"change.plan.plan.{Plan.__name__}.")]


def test_the_way_of_a_plan_through_apply_is_short(stores):
    way = way_of(make_rollback(stores, 1), stores)
    assert way[0] == "change.apply.apply"
    assert len(way) <= MOST, way
    way = way_of(make_undo(stores), stores)
    assert len(way) <= MOST, way


def test_a_plan_that_is_not_carried_out_in_place_is_refused_with_nothing_done(stores):
    with pytest.raises(PlanError, match="a restore, which does not change a checkpoint in place"):
        apply(RESTORE, stores, **STOPPED)
    assert stores.record(RESTORE.plan_id).find() == {}


class ThirdRemoval(Fault):
    """The storage refuses the third removal."""

    def hits(self, call: str, store: Store) -> bool:
        return call == "delete_if" and super().hits(call, store)


def test_a_change_that_the_storage_stops_half_way_says_how_to_go_on(stores):
    plan = make_rollback(stores, 1)
    failing = Stores(FaultyStore.of(stores.checkpoint, ThirdRemoval(3)))
    with pytest.raises(StoreError, match=f"2 of {len(plan.actions)} steps were done") as stopped:
        apply(plan, failing, **STOPPED)
    said = str(stopped.value)
    assert "The rollback was begun and is not complete" in said
    assert f"run the same command again, which completes it; `ckpt undo {stores.checkpoint.location}` takes" in said
    assert apply(make_rollback(stores, 1), stores, **STOPPED).status == "applied"
    undo = make_undo(stores)
    with pytest.raises(StoreError, match="The undo was begun and is not complete: 0 of") as stopped:
        apply(undo, Stores(FaultyStore.of(stores.checkpoint, FirstPut(1))), **STOPPED)
    assert str(stopped.value).endswith("run the same command again, which completes it.")


class FirstPut(Fault):
    """The storage refuses the first object that is put into the checkpoint."""

    def hits(self, call: str, store: Store) -> bool:
        return call == "keep" and super().hits(call, store)


@pytest.mark.parametrize(
    ("after_s", "said"),
    [
        (60, "the files notes/0.txt, notes/1.txt, notes/2.txt and 2 more were written since."),
        (-60, "files that it does not change were removed, or files with an earlier date were added or replaced."),
    ],
)
def test_a_stale_plan_says_in_words_what_has_changed(stores, after_s, said):
    plan = make_rollback(stores, 1)
    at = plan.planned_at_ms / 1000 + after_s
    for number in range(5):
        stores.checkpoint.create(f"notes/{number}.txt", b"a")
        os.utime(f"{stores.checkpoint.root}/notes/{number}.txt", (at, at))
    with pytest.raises(StalePlanError) as refused:
        apply(plan, stores, **STOPPED)
    assert said in str(refused.value) and "digest" not in str(refused.value)
