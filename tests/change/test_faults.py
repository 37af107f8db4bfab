"""Rollback and undo, with lock and records, on a storage that fails at every call in turn: on disk and over HTTP."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.lock import locked
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.find_records import records_of
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.errors import CheckpointError, PlanError
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery, after_rollback, read_all
from tests.faults import Fault, FaultyStore, Kill, calls_to_fail
from tests.soundness import assert_complete

BATCHES, KEEP = 3, 1
SAMPLES = {"local": 4, "s3": 1}

Act = Callable[[Store], None]


@pytest.fixture(params=["local", "s3"])
def place(request, tmp_path) -> tuple[Callable[[str], Store], int]:
    """Opens locations, and how many calls to let fail there."""
    if request.param == "s3":
        return request.getfixturevalue("s3_store"), SAMPLES["s3"]
    return (lambda name: Store.open(str(tmp_path / name))), SAMPLES["local"]


def roll_back(checkpoint: Store) -> None:
    stores = Stores(checkpoint)
    apply(make_rollback(stores, KEEP), stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")


def undo(checkpoint: Store) -> None:
    stores = Stores(checkpoint)
    try:
        plan = make_undo(stores)
    except PlanError as error:
        assert "no change that can be undone" in str(error)
        return
    apply(plan, stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")


@pytest.mark.s3
@pytest.mark.parametrize(
    "after", [pytest.param(False, marks=pytest.mark.exhaustive, id="refused"), pytest.param(True, id="answer lost")]
)
@pytest.mark.parametrize("act", [roll_back, undo])
def test_a_fault_at_every_call(place, act, after):
    opened, samples = place

    def prepared(name: str) -> FakeQuery:
        query = FakeQuery(FaultyStore.of(opened(f"{name}/orders"), Fault()))
        for batch_id in range(BATCHES):
            query.commit(batch_id)
        if act is undo:
            roll_back(query.store)
        return query

    query = prepared("counted")
    query.store.fault = counted = Fault()
    act(query.store)
    wanted = after_rollback(query.files, KEEP) if act is roll_back else query.files
    assert read_all(opened("counted/orders")) == wanted
    for at in calls_to_fail(counted.calls, samples):
        checkpoint = prepared(f"round-{at}").store
        checkpoint.fault = Fault(at, after=after)
        try:
            act(checkpoint)
        except CheckpointError as error:
            assert "injected" in str(error), f"call {at}: {error}"
        checkpoint.fault = Fault()
        assert_sound_and_nothing_lost(checkpoint, query.files, at)
        act(checkpoint)
        assert read_all(checkpoint) == wanted, f"completed after call {at}"
        with locked(checkpoint, "the next one", ""):
            pass
        assert records_of(checkpoint).ls()[0] == {}, f"the lock of call {at} is no obstacle"


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("act", [roll_back, undo])
def test_killed_at_any_call_the_same_command_completes_it(tmp_path, act):
    def prepared(name: str) -> FakeQuery:
        query = FakeQuery(FaultyStore.over(str(tmp_path / name / "orders"), Fault()))
        for batch_id in range(BATCHES):
            query.commit(batch_id)
        if act is undo:
            roll_back(query.store)
        return query

    query = prepared("counted")
    query.store.fault = counted = Fault()
    act(query.store)
    calls, wanted = counted.calls, read_all(query.store)
    assert wanted == (after_rollback(query.files, KEEP) if act is roll_back else query.files)
    for at in calls_to_fail(calls, SAMPLES["local"]):
        checkpoint = prepared(f"round-{at}").store
        if (child := os.fork()) == 0:
            checkpoint.fault = Kill(at)
            act(checkpoint)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        assert_sound_and_nothing_lost(checkpoint, query.files, at)
        act(checkpoint)
        assert read_all(checkpoint) == wanted, f"completed after a kill at call {at}"
        assert records_of(checkpoint).ls()[0] == {}, f"the lock of call {at} is no obstacle"


def assert_sound_and_nothing_lost(checkpoint: Store, files: dict[str, bytes], at: int) -> None:
    errors = [finding for finding in inspect(checkpoint, deep=True) if finding.severity == "error"]
    assert errors == [], f"after call {at}"
    assert_complete(checkpoint)
    left = set(read_all(checkpoint).items())
    for record in records_of(checkpoint).ls()[1]:
        saved = records_of(checkpoint).child(f"{record}/saved/checkpoint")
        left |= set(read_all(saved).items())
    assert set(files.items()) <= left, f"lost after call {at}"
