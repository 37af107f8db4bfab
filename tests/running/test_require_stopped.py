"""The proof that an application is stopped holds as long as nothing has happened since, and is asked for again."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.errors import CheckpointBusyError, EngineUnknownError
from airflow_provider_ckpt.running.find_status import find_status
from airflow_provider_ckpt.running.require_stopped import require_stopped, stopped_word
from airflow_provider_ckpt.running.stop_query import StopRequest, stop_query
from tests.running.simulated import drive, patience


@pytest.fixture
def stopped(run):
    unit, engine = run()
    stop_query(unit, engine, StopRequest(), by="ann", settle_s=0.1, patience=patience(engine))
    return unit, engine


def test_a_change_is_made_on_the_proof_and_the_proof_outlasts_it(stopped):
    unit, engine = stopped
    stores = unit.members[0].stores
    plan = make_rollback(stores, 1)
    receipt = apply(
        plan, stores, query_is_stopped=stopped_word(unit, engine), quiet_s=0, accept_sink=["unknown"], by="ann"
    )
    assert receipt.batch_id == 1
    assert require_stopped(unit, engine).queries[0].batch_id > 1


def test_a_change_is_refused_when_a_run_is_there_again(stopped):
    unit, engine = stopped
    stores = unit.members[0].stores
    plan = make_rollback(stores, 1)
    engine.runs[0].state = "RUNNING"
    with pytest.raises(CheckpointBusyError, match="the run app-0 of orders is RUNNING"):
        apply(plan, stores, query_is_stopped=stopped_word(unit, engine), quiet_s=0, accept_sink=["unknown"])


def test_without_an_answer_there_is_no_proof(stopped):
    unit, engine = stopped
    engine.silent_at = frozenset(range(1000))
    with pytest.raises(EngineUnknownError):
        require_stopped(unit, engine)


def test_without_a_stop_there_is_no_proof(run):
    unit, engine = run()
    with pytest.raises(CheckpointBusyError, match="its newest start is no completed stop"):
        require_stopped(unit, engine)


def test_what_was_driven_by_hand_since_a_change_is_no_longer_stopped(stopped):
    """The engine does not know that driver."""
    unit, engine = stopped
    stores = unit.members[0].stores
    apply(make_undo(stores), stores, query_is_stopped=True, quiet_s=0)
    assert require_stopped(unit, engine)
    drive(stores.checkpoint, engine)
    with pytest.raises(CheckpointBusyError, match="orders0 has gone on since it was stopped: its newest batches are"):
        require_stopped(unit, engine)
    assert find_status(unit, engine).state == "ended"
