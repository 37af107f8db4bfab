"""An operator sleeps in the middle of a change, another one takes the same plan over, and the first one wakes up.

Whatever the moment, and whether the second one finishes or is killed: every byte is in the checkpoint or in the record,
and both an undo and the plan applied once more come out as if there had been one operator.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from airflow_provider_ckpt.change import apply as apply_module
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.find_records import records_of
from airflow_provider_ckpt.errors import CheckpointBusyError, CheckpointError, StoreUnavailableError
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery, after_rollback, read_all
from tests.faults import Fault, FaultyStore, calls_to_fail

BATCHES, KEEP = 4, 1
STOPPED = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "unknown"}


class Asleep(Fault):
    """Before one storage call, another operator does what ``meanwhile`` does."""

    def __init__(self, at: int, meanwhile) -> None:
        super().__init__()
        self.sleeps_at, self.meanwhile = at, meanwhile

    def hits(self, call: str, store: Store) -> bool:
        super().hits(call, store)
        if self.calls == self.sleeps_at:
            self.meanwhile()
        return False


def prepared(place: Store) -> tuple[dict[str, bytes], Plan]:
    query = FakeQuery(place)
    for batch_id in range(BATCHES):
        query.commit(batch_id)
    return dict(query.files), make_rollback(Stores(place), KEEP)


def apply(place: Store, plan: Plan, by: str, fault: Fault | None = None) -> None:
    stores = Stores(FaultyStore.of(place, fault or Fault()))
    apply_module.apply(plan, stores, by=by, break_lock=by != "ann", **STOPPED)


def everything(place: Store) -> set[tuple[str, bytes]]:
    left = set(read_all(place).items())
    for record in records_of(place).ls()[1]:
        left |= set(read_all(records_of(place).child(f"{record}/saved/checkpoint")).items())
    return left


def calls_of(open_at, act) -> int:
    counted = Fault()
    place = open_at("counted/orders")
    _, plan = prepared(place)
    act(place, plan, "ann", counted)
    return counted.calls


@pytest.fixture(params=["local", pytest.param("s3", marks=[pytest.mark.s3, pytest.mark.exhaustive])])
def opened(request, tmp_path):
    """Opens locations, and at how many calls the first operator falls asleep there."""
    if request.param == "s3":
        return request.getfixturevalue("s3_store"), 3
    return (lambda name: Store.open(str(tmp_path / name))), 8


@pytest.mark.parametrize("killed_at", [None, 0.5, 0.75, 0.9], ids=lambda part: f"killed at {part}" if part else "done")
def test_an_operator_that_wakes_up_late_loses_nothing(opened, killed_at):
    wake_up_late(*opened, killed_at)


@pytest.mark.s3
def test_an_operator_that_wakes_up_late_over_http_loses_nothing(s3_store):
    wake_up_late(s3_store, 1, 0.5)


def wake_up_late(open_at: Callable[[str], Store], samples: int, killed_at: float | None) -> None:
    """Let the first operator sleep at some of its calls, and a second one, who may be killed, take over."""
    calls = calls_of(open_at, apply)
    for at in calls_to_fail(calls, samples):
        place = open_at(f"call-{at}/orders")
        before, plan = prepared(place)

        def take_over(place=place, plan=plan) -> None:
            with suppress(StoreUnavailableError):
                apply(place, plan, "bob", Fault(killed_at and int(killed_at * calls)))

        with suppress(CheckpointError):
            apply(place, plan, "ann", Asleep(at, take_over))
        assert everything(place) >= before.items(), f"lost: the first operator slept at call {at}"
        apply(place, plan, "eve")
        assert read_all(place) == after_rollback(before, KEEP), at
        assert everything(place) >= before.items(), at
        apply_module.apply(make_undo(Stores(place)), Stores(place), **STOPPED)
        assert read_all(place) == before, at


def test_who_wakes_up_late_is_told_so(tmp_path):
    place = Store.open(str(tmp_path / "orders"))
    _, plan = prepared(place)
    guard_looks = "saved.json"

    class AsleepAfterSaving(Fault):
        def hits(self, call: str, store: Store) -> bool:
            if call == "find" and store.location == place.location and not self.calls:
                written = [
                    name for record in records_of(place).ls()[1] for name in records_of(place).child(record).ls()[0]
                ]
                if guard_looks in written:
                    self.calls = 1
                    apply(place, plan, "bob")
            return False

    with pytest.raises(CheckpointBusyError, match="taken over by a process that has ended") as stopped:
        apply(place, plan, "ann", AsleepAfterSaving())
    assert "ckpt history" in stopped.value.hint
    assert [(change.by, change.state) for change in history(place)] == [("ann", "applied")]
