"""One function carries out the plans of every kind, and a reader can follow the plan through it."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.rollback.make import make_rollback
from airflow_provider_ckpt.storage.store import Store
from tests.change.plans import RESTORE
from tests.fake_query import FakeQuery
from tests.walks import MOST, given

STOPPED: dict[str, Any] = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "unknown"}


@pytest.fixture
def stores(tmp_path) -> Stores:
    store = Store.open(str(tmp_path / "checkpoint"))
    query = FakeQuery(store)
    for batch_id in range(4):
        query.commit(batch_id)
    return Stores(store)


def way_of(plan: Plan, stores: Stores) -> list[str]:
    """The functions that get a plan while it is carried out, without its own properties: they are the plan itself."""
    way = given(plan, lambda: apply(plan, stores, **STOPPED))
    return [name for name in way if not name.startswith(f"change.plan.{Plan.__name__}.")]


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
