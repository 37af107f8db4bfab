"""What can be taken back of the plans of a fleet; a record that cannot be read stops no other query."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.errors import StoreUnavailableError
from airflow_provider_ckpt.fleet.find_undoable import find_undoable
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery
from tests.stopping import stop_after

WORD = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "unknown"}


def planned(home: Path, name: str) -> tuple[Stores, Plan]:
    """A query with three batches, and the plan that was approved: back to the first."""
    stores = Stores(Store.open(str(home / name)))
    query = FakeQuery(stores.checkpoint)
    for batch_id in range(3):
        query.commit(batch_id)
    return stores, make_rollback(stores, 0)


def approved(plan: Plan) -> dict[str, str]:
    return {"checkpoint": plan.location, "plan_id": plan.plan_id}


def test_what_was_begun_and_is_not_undone_can_be_taken_back(tmp_path):
    queries = {name: planned(tmp_path, name) for name in ("applied", "stopped", "undone", "not begun", "damaged")}
    for name, (stores, plan) in queries.items():
        if name == "stopped":
            with pytest.raises(KeyboardInterrupt):
                apply(plan, stores, on_step=stop_after(2), **WORD)
        elif name != "not begun":
            apply(plan, stores, **WORD)
    undone, damaged = queries["undone"][0], queries["damaged"][1]
    apply(make_undo(undone), undone, **WORD)
    (tmp_path / "_ckpt_undo" / "damaged" / damaged.plan_id / "plan.json").write_text("{")

    found = find_undoable([approved(plan) for _, plan in queries.values()], Store.open)
    assert found.queries == tuple(
        {"checkpoint": plan.location, "undoes": plan.plan_id} for _, plan in (queries["applied"], queries["stopped"])
    )
    (refused,) = found.refused
    assert refused.what == damaged.location and "plan.json" in refused.reason


def test_records_are_where_they_were_said_to_be(tmp_path):
    stores, plan = planned(tmp_path, "orders")
    elsewhere = Store.open(str(tmp_path / "undo"))
    apply(plan, Stores(stores.checkpoint, undo=elsewhere), **WORD)
    assert find_undoable([approved(plan)], Store.open).queries == ()
    found = find_undoable(
        [approved(plan)], Store.open, lambda location: elsewhere if location == plan.location else None
    )
    assert found.queries == ({"checkpoint": plan.location, "undoes": plan.plan_id},)


def test_a_storage_that_is_away_is_asked_again(tmp_path):
    def away(location: str) -> Store:
        raise StoreUnavailableError("away", location=location)

    with pytest.raises(StoreUnavailableError):
        find_undoable([approved(planned(tmp_path, "orders")[1])], away)
