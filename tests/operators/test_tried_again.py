"""A task that changes a checkpoint is tried again, cleared or run twice: one change, one record, the same files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from airflow.providers.common.compat.sdk import AirflowException

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.journal import history
from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointRestoreOperator,
    CheckpointRollbackOperator,
    CheckpointUndoOperator,
)
from airflow_provider_ckpt.storage.store import Store
from tests.dying import KILLED, die_at
from tests.fake_query import FakeQuery
from tests.operators.task import Task

DO_IT = {"query_is_stopped": True, "quiet_period": 0, "accept_sink": "unknown", "break_lock": True}
#: Each so many writes of a task it is killed; all of them in `make exhaustive`.
EVERY = 1 if os.environ.get("CKPT_EXHAUSTIVE") else 7
PARENT = os.getpid()
EARLIER, TASK = Task(task_id="earlier"), Task(task_id="it")


def run(kind, home, task, **arguments):
    operator = kind(task_id="t", checkpoint=str(home / "orders"), **{**DO_IT, **arguments})
    return operator.execute({"ti": task})


def tree(home: Path):
    return {str(path.relative_to(home)): path.read_bytes() for path in (home / "orders").rglob("*") if path.is_file()}


def changes(home: Path):
    """What the records say, in their order."""
    return [(item.plan.kind, item.plan.batch_id, item.state) for item in history(Store.open(str(home / "orders")))]


def rolled_back(home):
    """A query with eight batches that another task has rolled back to batch 5."""
    query = FakeQuery(Store.open(str(home / "orders")))
    for batch_id in range(8):
        query.commit(batch_id)
    run(CheckpointRollbackOperator, home, EARLIER, to_batch=5)
    return home


@pytest.fixture
def home(tmp_path):
    return rolled_back(tmp_path / "home")


def undo(home, task=TASK):
    return run(CheckpointUndoOperator, home, task)


def rollback(home, task=TASK):
    return run(CheckpointRollbackOperator, home, task, to_batch=3)


def killed_at(write, change, home):
    """Whether a process that carries a change out died before its write of that number."""
    child = os.fork()
    if child == 0:
        die_at(write, str(home))
        try:
            change(home)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED


@pytest.mark.parametrize("change", [undo, rollback])
def test_killed_before_any_of_its_writes_and_tried_again_it_is_one_change(home, tmp_path, change):
    change(home)
    right = (tree(home), changes(home))
    write = 1
    while killed_at(write, change, at := rolled_back(tmp_path / f"killed{write}")):
        for _ in ("tried again", "cleared"):
            change(at)
            found = [item for item in changes(at) if item[2] not in ("planned", "refused")]
            assert (tree(at), found) == right, f"killed before write {write}"
        write += EVERY
    assert write > 30
    assert (tree(at), changes(at)) == right


def test_an_undo_that_is_cleared_takes_back_nothing_more(home):
    rollback(home, Task(task_id="second"))
    assert undo(home)["receipt"]["status"] == "applied"
    there = (tree(home), changes(home))
    again = undo(home)
    assert (again["receipt"]["status"], again["receipt"]["actions"]) == ("already_applied", 0)
    assert (tree(home), changes(home)) == there


def test_a_rollback_that_is_cleared_after_the_query_has_run_on_is_not_made_again(home):
    rollback(home)
    query = FakeQuery(Store.open(str(home / "orders")))
    for batch_id in (4, 5):
        query.commit(batch_id, "b")
    assert rollback(home)["receipt"]["status"] == "already_applied"
    assert "orders/commits/5" in tree(home)


def test_whoever_clears_a_change_that_was_undone_wants_it_again(home):
    rollback(home)
    undo(home, Task(task_id="undo"))
    assert rollback(home)["receipt"]["status"] == "applied"
    assert undo(home, Task(task_id="undo"))["receipt"]["status"] == "applied", "the whole run is repeated"


def test_a_task_that_was_given_another_target_is_another_change(home):
    rollback(home)
    assert run(CheckpointRollbackOperator, home, TASK, to_batch=2)["receipt"]["status"] == "applied"


def test_another_run_of_the_dag_is_another_one_who_asks(home):
    undo(home)
    with pytest.raises(AirflowException, match="no change that can be undone"):
        undo(home, Task(task_id="it", run_id="tuesday"))


def test_the_plan_of_another_task_is_carried_out_once(home):
    planned = Task()
    run(CheckpointRollbackOperator, home, planned, to_batch=3, plan_only=True)
    for status in ("applied", "already_applied"):
        done = run(CheckpointRollbackOperator, home, TASK, plan=planned.pushed["plan"])
        assert done["receipt"]["status"] == status


# --- a restore ---------------------------------------------------------------------------------------------------------


def restore(home, task=TASK):
    places = {"checkpoint": str(home / "new"), "backup_root": str(home / "backups"), "sinks": "noop"}
    return CheckpointRestoreOperator(task_id="t", accept_sink="unknown", **places).execute({"ti": task})


def backed_up(home):
    rolled_back(home)
    take_backup(Store.open(str(home / "orders")), Store.open(str(home / "backups")))
    return home


def written(home):
    """The files of a restored checkpoint, and what the records say of it."""
    files = {str(path.relative_to(home)): path.read_bytes() for path in (home / "new").rglob("*") if path.is_file()}
    every = history(Store.open(str(home / "new")))
    records = [(item.plan.kind, item.state) for item in every if item.state not in ("planned", "refused")]
    return files, records


def test_a_restore_that_is_killed_before_any_of_its_writes_and_tried_again_is_one(tmp_path):
    write, right = 1, None
    restore(backed_up(tmp_path / "whole"))
    right = written(tmp_path / "whole")
    while killed_at(write, restore, at := backed_up(tmp_path / f"killed{write}")):
        for _ in ("tried again", "cleared"):
            restore(at)
            files, records = written(at)
            assert (files.keys(), records) == (right[0].keys(), right[1]), f"killed before write {write}"
        write += EVERY
    assert write > 15 and right[1] == [("restore", "applied")]


def test_a_restore_that_is_cleared_was_made_whatever_is_latest_by_then(tmp_path):
    home = backed_up(tmp_path / "home")
    assert restore(home)["receipt"]["status"] == "applied"
    query = FakeQuery(Store.open(str(home / "orders")))
    query.commit(6, "b")
    take_backup(query.store, Store.open(str(home / "backups")))
    there = written(home)
    assert restore(home)["receipt"]["status"] == "already_applied"
    assert written(home) == there
    with pytest.raises(AirflowException, match="the location is not empty"):
        restore(home, Task(run_id="tuesday"))


# --- at once -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [undo, rollback, restore])
def test_two_that_run_at_once_make_one_change(tmp_path, monkeypatch, change):
    """Airflow may start a task again while it still takes the first try for lost."""
    monkeypatch.setitem(DO_IT, "break_lock", False)
    change(backed_up(tmp_path / "alone"))
    right = (tree(tmp_path / "alone").keys(), changes(tmp_path / "alone"), written(tmp_path / "alone")[1])
    home = backed_up(tmp_path / "home")
    children = [os.fork() for _ in range(2) if os.getpid() == PARENT]
    if 0 in children:
        try:
            change(home)
            os._exit(0)
        except AirflowException as error:
            (home / f"said{os.getpid()}").write_text(str(error))
            os._exit(3 if "BUSY" in str(error) or "OBJECT_EXISTS" in str(error) else 4)
        finally:
            os._exit(5)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert set(codes) <= {0, 3}, [p.read_text() for p in home.glob("said*")]
    change(home)
    found = [item for item in changes(home) if item[2] not in ("planned", "refused")]
    assert (tree(home).keys(), found, written(home)[1]) == right
