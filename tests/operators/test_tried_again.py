"""A task that changes a checkpoint is tried again, cleared or run twice: one change, one record, the same files."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
from pathlib import Path

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.journal import history
from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointRepartitionOperator,
    CheckpointResetOffsetsOperator,
    CheckpointRestoreOperator,
    CheckpointRollbackOperator,
    CheckpointUndoOperator,
)
from airflow_provider_ckpt.sources import ask_kafka
from airflow_provider_ckpt.storage.store import Store
from tests.dying import KILLED, die_at, pause_at
from tests.fake_query import FakeQuery
from tests.operators.task import Task
from tests.repartition.forged_spark import GOLDEN, PARTITIONS, Forged, before_and_batch, put_in_place
from tests.reset.kafka_query import ForgedBroker, KafkaQuery

DO_IT = {"query_is_stopped": True, "quiet_period": 0, "accept_sink": "unknown"}
#: Each so many writes of a task it is killed or paused; all of them in `make exhaustive`.
EXHAUSTIVE = bool(os.environ.get("CKPT_EXHAUSTIVE"))
EVERY, EVERY_PAUSE = (1, 1) if EXHAUSTIVE else (11, 23)
EARLIER, TASK = Task(task_id="earlier"), Task(task_id="it")


def run(kind, home, task, **arguments):
    operator = kind(task_id="t", checkpoint=str(home / "orders"), **arguments)
    return operator.execute({"ti": task})


def tree(home: Path):
    return {str(path.relative_to(home)): path.read_bytes() for path in (home / "orders").rglob("*") if path.is_file()}


def changes(home: Path):
    """What the records say, in their order."""
    return [(item.plan.kind, item.plan.batch_id, item.state) for item in history(Store.open(str(home / "orders")))]


def made(home: Path):
    """The changes that were made: a plan that nobody has begun to carry out is none."""
    return [change for change in changes(home) if change[2] not in ("planned", "refused")]


def committed(home: Path, last: int, kind=FakeQuery):
    query = kind(Store.open(str(home / "orders")))
    for batch_id in range(last + 1):
        query.commit(batch_id)
    return query


# --- each operator that changes a checkpoint: how it is before, and the change -----------------------------------------


def rolled_back(home, golden):
    """A query with eight batches that another task has rolled back to batch 5."""
    committed(home, 7)
    run(CheckpointRollbackOperator, home, EARLIER, to_batch=5, **DO_IT)


def undo(home, task=TASK):
    return run(CheckpointUndoOperator, home, task, **DO_IT)


def rollback(home, task=TASK):
    return run(CheckpointRollbackOperator, home, task, to_batch=3, **DO_IT)


def read_from_kafka(home, golden):
    committed(home, 3, KafkaQuery)


def reset(home, task=TASK):
    """A move by so much: made twice it would be another one."""
    to = {"source": "0=kafka:forged:9092", "shift_by": -10}
    return run(CheckpointResetOffsetsOperator, home, task, **to, **DO_IT)


def backed_up(home, golden):
    query = committed(home / "live", 5)
    take_backup(query.store, Store.open(str(home / "backups")))


def backed_up_later(home):
    query = FakeQuery(Store.open(str(home / "live" / "orders")))
    query.commit(6)
    take_backup(query.store, Store.open(str(home / "backups")))


def restore(home, task=TASK):
    return run(CheckpointRestoreOperator, home, task, backup_root=str(home / "backups"), accept_sink="unknown")


def in_two_partitions(home, golden):
    shutil.copytree(golden, home)
    before_and_batch(home)
    (home / "checkpoint").rename(home / "orders")


def repartition(home, task=TASK):
    return run(CheckpointRepartitionOperator, home, task, partitions=PARTITIONS, **DO_IT)


#: How the checkpoint is before, by what is done then.
BEFORE = {
    undo: rolled_back,
    rollback: rolled_back,
    reset: read_from_kafka,
    restore: backed_up,
    repartition: in_two_partitions,
}
each_operator = pytest.mark.parametrize("change", BEFORE)


@pytest.fixture
def ready(tmp_path, goldens, monkeypatch):
    """Makes a home in which a change can be made; neither broker nor Spark is asked."""
    golden = goldens[f"4.3.0/{GOLDEN}"]
    *_, batch = before_and_batch(Path(shutil.copytree(golden, tmp_path / "golden")))
    broker = ForgedBroker({topic: {0: (0, 100), 1: (0, 100)} for topic in KafkaQuery.TOPICS})
    monkeypatch.setattr(ask_kafka, "KafkaBroker", lambda servers, config: broker)

    def make(change, name="home"):
        home = tmp_path / name
        BEFORE[change](home, golden)
        put_in_place(monkeypatch, Forged(home / "orders", batch))
        return home

    return make


@pytest.fixture
def home(ready):
    return ready(undo)


# --- killed, tried again, cleared, twice at once ----------------------------------------------------------------------


def started(change, home, at_write):
    """A process that makes a change, and exits with its place in ``ENDS``."""
    child = os.fork()
    if child == 0:
        end = len(ENDS)
        try:
            at_write()
            end = ENDS.index(answer(change, home))
        finally:
            os._exit(end)
    return child


#: How a task may end beside another one that makes the same change.
ENDS = ("applied", "already_applied", "busy")


def answer(change, home):
    """The status of the receipt, or that the task is to be tried again since the other one is at work."""
    try:
        return change(home)["receipt"]["status"]
    except AirflowFailException:
        raise
    except AirflowException as error:
        assert str(error).startswith("CHECKPOINT_BUSY")
        return "busy"


def exit_code(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def writes(first, every):
    return itertools.count(first, every)


@each_operator
def test_killed_before_any_of_its_writes_and_tried_again_it_is_one_change(ready, change):
    change(right := ready(change))
    expected = (named(tree(right), right), changes(right))
    for write in writes(1, EVERY):
        home = ready(change, f"killed{write}")
        dead = exit_code(started(change, home, lambda: die_at(write, str(home)))) == KILLED  # noqa: B023
        for _ in ("tried again", "cleared"):
            change(home)
            assert (named(tree(home), home), made(home)) == expected, f"killed before write {write}"
        if not dead:
            break
    assert write > 2 * EVERY
    assert changes(home) == expected[1]
    assert change(home)["receipt"]["status"] == "already_applied"


@each_operator
def test_twice_at_once_it_is_one_change(ready, change):
    """One process pauses before a write, another one makes the same change, and the first goes on."""
    change(right := ready(change))
    expected = (named(tree(right), right), made(right))
    for write in writes(1, EVERY_PAUSE):
        home = ready(change, f"paused{write}")
        first = started(change, home, lambda: pause_at(write, str(home)))  # noqa: B023
        _, status = os.waitpid(first, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            break
        second = exit_code(started(change, home, lambda: None))
        os.kill(first, signal.SIGCONT)
        ends = (exit_code(first), second)
        assert max(ends) < len(ENDS), f"paused before write {write}: {ends}"
        assert {*ends} != {ENDS.index("applied")}, f"paused before write {write}: made twice"
        for _ in ("tried again", "cleared"):
            assert answer(change, home) == "already_applied"
        assert (named(tree(home), home), made(home)) == expected, f"paused before write {write}"


@pytest.mark.parametrize(("kind", "change"), [(CheckpointUndoOperator, undo), (CheckpointResetOffsetsOperator, reset)])
def test_planned_after_another_process_has_made_the_change_it_is_not_made_once_more(ready, monkeypatch, kind, change):
    """What is asked for relatively would be another change by then: of an undo, that of the change before."""
    home, planned = ready(change), kind.planned
    if change is undo:
        rollback(home, Task(task_id="second"))

    def late(operator):
        monkeypatch.setattr(kind, "planned", planned)
        assert change(home)["receipt"]["status"] == "applied"
        there.update(tree(home))
        return planned(operator)

    there: dict[str, bytes] = {}
    monkeypatch.setattr(kind, "planned", late)
    assert change(home)["receipt"]["status"] == "already_applied"
    assert tree(home) == there


def named(files, home):
    """The files of a home, with one name for it in them."""
    return {name: data.replace(str(home).encode(), b"HOME") for name, data in files.items()}


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
    assert run(CheckpointRollbackOperator, home, TASK, to_batch=2, **DO_IT)["receipt"]["status"] == "applied"


def test_another_run_of_the_dag_is_another_one_who_asks(home):
    undo(home)
    with pytest.raises(AirflowException, match="no change that can be undone"):
        undo(home, Task(task_id="it", run_id="tuesday"))


def test_each_task_of_a_mapped_one_asks_for_itself(home):
    one, other = Task(task_id="it"), Task(task_id="it")
    one.map_index, other.map_index = 0, 1
    assert rollback(home, one)["receipt"]["status"] == "applied"
    FakeQuery(Store.open(str(home / "orders"))).commit(4, "b")
    assert rollback(home, one)["receipt"]["status"] == "already_applied"
    assert rollback(home, other)["receipt"]["status"] == "applied"
    assert "orders/commits/4" not in tree(home)


def test_the_plan_of_another_task_is_carried_out_once(home):
    planned = Task()
    run(CheckpointRollbackOperator, home, planned, to_batch=3, plan_only=True, **DO_IT)
    for status in ("applied", "already_applied"):
        done = run(CheckpointRollbackOperator, home, TASK, plan=planned.pushed["plan"], **DO_IT)
        assert done["receipt"]["status"] == status


def test_a_reset_that_is_cleared_after_the_query_has_run_on_is_not_made_again(ready):
    reset(home := ready(reset))
    there = tree(home)
    KafkaQuery(Store.open(str(home / "orders"))).commit(4)
    assert reset(home)["receipt"]["status"] == "already_applied"
    assert tree(home).items() >= there.items()


@pytest.fixture
def restored(ready):
    restore(home := ready(restore))
    return home


def test_a_restore_that_is_cleared_after_the_query_has_run_on_is_done(restored):
    FakeQuery(Store.open(str(restored / "orders"))).commit(6)
    there = tree(restored)
    again = restore(restored)["receipt"]
    assert (again["status"], again["actions"]) == ("already_applied", 0)
    assert (tree(restored), len(made(restored))) == (there, 1)
    backed_up_later(restored)
    assert restore(restored)["receipt"]["status"] == "already_applied"
    with pytest.raises(AirflowFailException, match="the location is not empty"):
        restore(restored, Task(task_id="it", run_id="tuesday"))


def test_a_restore_that_is_tried_again_completes_its_own_backup_though_there_is_a_later_one(ready):
    home = ready(restore)
    assert exit_code(started(restore, home, lambda: die_at(12, str(home / "orders")))) == KILLED
    assert tree(home)
    backed_up_later(home)
    assert restore(home)["batch_id"] == 5
    assert [state for *_, state in changes(home)] == ["applied"]
    assert restore(home)["receipt"]["status"] == "already_applied"


def test_whoever_clears_a_restore_whose_location_was_emptied_wants_it_again(restored):
    shutil.rmtree(restored / "orders")
    assert restore(restored)["receipt"]["status"] == "applied"
    assert len(made(restored)) == 2


def test_a_restore_to_where_another_query_has_begun_is_not_called_done(restored):
    shutil.rmtree(restored / "orders")
    FakeQuery(Store.open(str(restored / "orders")), query_id="0b1f3a9c-0000-4000-8000-000000000001").commit(0)
    with pytest.raises(AirflowFailException, match="the location is not empty"):
        restore(restored)
