"""The operator that takes a change back: the one that is meant, once, and no change before it."""

from __future__ import annotations

import uuid

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.operators.checkpoint import CheckpointRollbackOperator, CheckpointUndoOperator
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery
from tests.operators.task import Task

DO_IT = {"query_is_stopped": True, "quiet_period": 0, "accept_sink": "unknown"}


@pytest.fixture
def query(tmp_path):
    """A query that was rolled back from batch 7 to 5, and then to 3."""
    query = FakeQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(8):
        query.commit(batch_id)
    for batch_id in (5, 3):
        carry_out(CheckpointRollbackOperator, query, to_batch=batch_id)
    return query


def carry_out(kind, query, task=None, **arguments):
    operator = kind(task_id="t", checkpoint=query.store.location, **{**DO_IT, **arguments})
    return operator.execute({"ti": task or Task(run_id=str(uuid.uuid4()))})


def test_the_newest_change_is_taken_back_and_then_the_one_before(query):
    for newest in (5, 7):
        done = carry_out(CheckpointUndoOperator, query)
        assert (done["kind"], done["batch_id"], observe(query.store).latest_committed) == ("undo", newest, newest)
    with pytest.raises(AirflowFailException, match="no change that can be undone"):
        carry_out(CheckpointUndoOperator, query)


def test_a_change_that_is_named_is_taken_back_once_and_never_the_one_before(query):
    first, second = (change.plan.plan_id for change in history(query.store))
    task = Task()
    with pytest.raises(AirflowFailException, match=f"not undone is {second}, not '{first}'"):
        carry_out(CheckpointUndoOperator, query, task, undoes=first)
    assert task.pushed["error"]["error"]["code"] == "PLAN_REFUSED"
    assert carry_out(CheckpointUndoOperator, query, undoes=second)["receipt"]
    again = carry_out(CheckpointUndoOperator, query, undoes=second)
    assert (again["receipt"]["status"], observe(query.store).latest_committed) == ("already_applied", 5)


def test_the_plan_that_was_approved_is_carried_out(query):
    task = Task()
    planned = carry_out(CheckpointUndoOperator, query, task, plan_only=True)
    assert observe(query.store).latest_committed == 3
    done = carry_out(CheckpointUndoOperator, query, plan=task.pushed["plan"], approved_by="ann")
    assert (done["plan_id"], done["receipt"]["status"]) == (planned["plan_id"], "applied")


def test_what_is_refused_is_told_in_texts_that_any_database_holds(query):
    task = Task()
    with pytest.raises(AirflowFailException):
        carry_out(CheckpointRollbackOperator, query, task, to_batch=99)
    assert set(task.pushed) == {"error"} and task.pushed["error"]["error"]["message"].isprintable()


def test_a_rollback_that_has_trimmed_the_log_of_the_sink_is_undone_without_naming_it(golden_home):
    home = golden_home("file-to-parquet-5")
    arguments = {"task_id": "t", "checkpoint": str(home / "checkpoint"), "query_is_stopped": True, "quiet_period": 0}
    log = home / "output/_spark_metadata"
    before = sorted(path.name for path in log.iterdir() if path.suffix != ".crc")
    sink = {"sink": f"file:{home}/output", "trim_sink_log": True, "to_batch": 2, "accept_sink": "unknown"}
    CheckpointRollbackOperator(**arguments, **sink).execute({"ti": Task(task_id="back")})
    done = CheckpointUndoOperator(**arguments).execute({"ti": Task(task_id="undo")})
    assert done["receipt"]["status"] == "applied"
    assert sorted(path.name for path in log.iterdir() if path.suffix != ".crc") == before
