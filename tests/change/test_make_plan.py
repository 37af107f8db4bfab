"""Every kind of change is planned in the same way: found where it was done before, else decided anew."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest

from airflow_provider_ckpt.change.make_plan import Planner, Seen, find_or_make, observe_without_flight
from airflow_provider_ckpt.change.option import WAIT_S
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.kinds import Kind
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.change.record.resume import Said
from airflow_provider_ckpt.changes.rollback.make import RollbackRequest
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import CLOSING
from airflow_provider_ckpt.errors import CheckpointClosedError, PlanError
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.storage.store import Store
from tests.change.plans import RESET, ROLLBACK


@dataclass(frozen=True)
class Touch(Planner):
    """A change that has no steps."""

    kind: ClassVar[Kind] = "reset"
    batch_id: int
    is_wanted_once: bool = True

    @classmethod
    def of(cls, plan: Plan, stores: Stores) -> Self:
        return cls(plan.batch_id)

    def is_met_by(self, plan: Plan) -> bool:
        return plan.batch_id == self.batch_id

    def is_done(self, record: journal.Record, stores: Stores) -> bool:
        return self.is_wanted_once

    def decide(self, seen: Seen) -> Plan:
        return replace(
            RESET, location=seen.view.location, batch_id=self.batch_id, planned_at_ms=2, actions=(), warnings=()
        )


@pytest.fixture
def stores(golden) -> Stores:
    return Stores(Store.open(str(golden("agg-hdfs"))))


def carry_out(plan: Plan, stores: Stores, number: int) -> Plan:
    """Write down that a plan was carried out."""
    own: dict[str, Any] = {"by": "ada", "at_ms": number}
    record = stores.record(plan.plan_id)
    journal.begin(record, plan, **own, from_batch=None, number=number, approved_by="", accepted=(), asked="")
    journal.complete(record, plan.plan_id, **own)
    return plan


def done(stores: Stores, batch_id: int = 3) -> Plan:
    return replace(RESET, location=stores.checkpoint.location, batch_id=batch_id, planned_at_ms=1)


def test_what_is_said_beside_the_target_is_in_fields_of_these_names():
    said = {"sink": Sink("kafka"), "trigger": "availableNow", "trim_sink_log": True}
    assert RollbackRequest(**said).said == Said(**said)
    assert Touch(3).said == Said(), "a kind without such fields says nothing"
    assert (Touch(3).fence, Touch(3).downstream, Touch(3).wait_for_batch) == (False, (), WAIT_S)


def test_a_change_that_is_done_is_not_planned_once_more(stores):
    plan = carry_out(done(stores), stores, 1)
    assert find_or_make(Touch(3), stores) == plan


@pytest.mark.parametrize(
    ("planner_", "later"),
    [
        (Touch(2), None),
        (Touch(3, is_wanted_once=False), None),
        (Touch(3), replace(ROLLBACK, batch_id=3)),
    ],
    ids=["to another end", "that may be made again", "behind a change of another kind"],
)
def test_any_other_change_is_planned_anew(stores, planner_, later):
    carry_out(done(stores), stores, 1)
    if later is not None:
        carry_out(replace(later, location=stores.checkpoint.location), stores, 2)
    assert find_or_make(planner_, stores).planned_at_ms == 2


def test_a_storage_that_creates_nothing_exclusively_is_told_of(stores, monkeypatch):
    monkeypatch.setattr(Store, "creates_exclusively", False)
    assert find_or_make(Touch(3), stores).warnings != ()


def test_no_change_is_planned_beside_a_link(stores, tmp_path):
    (tmp_path / "other").mkdir()
    (Path(stores.checkpoint.root) / "state" / "link").symlink_to(tmp_path / "other")
    with pytest.raises(PlanError, match="link"):
        find_or_make(Touch(3), stores)


def test_the_entries_that_are_left_without_the_batch_in_flight_are_read(stores):
    store = stores.checkpoint
    newest = observe_without_flight(store).latest_committed
    assert newest is not None
    store.delete(layout.commit_entry(newest))
    entries = observe_without_flight(store).entries
    assert {layout.offset_entry(newest - 2), layout.commit_entry(newest - 1)} <= entries.keys()


def test_no_change_is_planned_in_the_midst_of_another_one(stores):
    stores.checkpoint.create(layout.offset_entry(99), CLOSING)
    with pytest.raises(CheckpointClosedError):
        find_or_make(Touch(3), stores)
