"""A task that changes a checkpoint is tried again, cleared or run twice: one change, one record, the same files."""

from __future__ import annotations

import itertools
import os
import shutil
import signal

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointBackupOperator,
    CheckpointResetOffsetsOperator,
    CheckpointRollbackOperator,
    CheckpointUndoOperator,
)
from airflow_provider_ckpt.storage.store import Store
from tests.changes.repartition.forged_spark import GOLDEN
from tests.changes.reset.kafka_query import KafkaQuery
from tests.dying import KILLED, die_at, pause_at
from tests.fake_query import FakeQuery
from tests.operators.each_change import (
    CHANGES,
    DO_IT,
    TASK,
    backed_up_later,
    backup,
    backups,
    changes,
    forge,
    made,
    reset,
    restore,
    rollback,
    run,
    stage,
    status_of,
    tree,
    undo,
)
from tests.operators.task import Task

#: Each so many writes of a task it is killed or paused; all of them in `make exhaustive`.
EXHAUSTIVE = bool(os.environ.get("CKPT_EXHAUSTIVE"))
EVERY, EVERY_PAUSE = (1, 1) if EXHAUSTIVE else (11, 23)

#: How a range is staged twice, its own tests show.
TRIED = [change for change in CHANGES if change is not stage]
each_operator = pytest.mark.parametrize("change", TRIED, ids=str)


@pytest.fixture
def ready(tmp_path, goldens, monkeypatch):
    """Makes a home in which a change can be made; neither broker nor Spark is asked."""
    golden = goldens[f"4.3.0/{GOLDEN}"]

    def make(change, name="home"):
        home = tmp_path / name
        change.before(home, golden)
        forge(home, golden, monkeypatch)
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
        return status_of(change(home))
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
    expected = change.is_there(right)
    for write in writes(1, EVERY):
        home = ready(change, f"killed{write}")
        dead = exit_code(started(change, home, lambda: die_at(write, str(home)))) == KILLED  # noqa: B023
        for _ in ("tried again", "cleared"):
            change(home)
            assert change.is_there(home) == expected, f"killed before write {write}"
        if not dead:
            break
    assert write > EVERY
    assert changes(home) == made(home)
    assert answer(change, home) == "already_applied"


@pytest.mark.parametrize("change", [change for change in TRIED if change is not backup], ids=str)
def test_twice_at_once_it_is_one_change(ready, change):
    """One process pauses before a write, another one makes the same change, and the first goes on."""
    change(right := ready(change))
    expected = change.is_there(right)
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
        assert change.is_there(home) == expected, f"paused before write {write}"


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


def test_two_backups_at_once_are_two_that_are_whole(ready):
    """Nothing is lost by a second one, so neither waits for the other."""
    home = ready(backup)
    first = started(backup, home, lambda: pause_at(9, str(home)))
    os.waitpid(first, os.WUNTRACED)
    assert exit_code(started(backup, home, lambda: None)) == ENDS.index("applied")
    os.kill(first, signal.SIGCONT)
    assert exit_code(first) == ENDS.index("applied")
    assert answer(backup, home) == "already_applied"
    before, one, other = backups(home).values()
    assert before.keys() != one.keys()
    assert one == other


def test_a_backup_of_another_run_or_of_other_tags_is_another(ready):
    home = ready(backup)
    assert [answer(backup, home) for _ in range(2)] == ["applied", "already_applied"]
    assert status_of(backup(home, Task(task_id="it", run_id="tuesday"))) == "applied"
    tagged = run(CheckpointBackupOperator, home, TASK, backup_root=str(home / "backups"), tags="release")
    assert status_of(tagged) == "applied"


@pytest.mark.parametrize(
    "more", [{"parameter_of_a_later_release": None}, {"to_batch": "3"}], ids=lambda more: next(iter(more))
)
def test_a_change_is_known_by_a_later_release_and_by_a_dag_that_renders_otherwise(home, monkeypatch, more):
    rollback(home)
    FakeQuery(Store.open(str(home / "orders"))).commit(4)
    fields = (*CheckpointRollbackOperator.template_fields, *more)
    monkeypatch.setattr(CheckpointRollbackOperator, "template_fields", fields)
    for name, value in more.items():
        monkeypatch.setattr(CheckpointRollbackOperator, name, value, raising=False)
    arguments = {**rollback.arguments(str(home)), **({} if "to_batch" not in more else more)}
    again = CheckpointRollbackOperator(task_id="t", **arguments).execute({"ti": TASK})
    assert status_of(again) == "already_applied"


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


def newest(home):
    return (home / "orders/offsets/3").read_text().splitlines()[-1]


def test_a_shift_of_another_run_goes_further_and_that_of_the_same_run_does_not(ready):
    home = ready(reset)
    for run_id, offset in (("monday", 30), ("tuesday", 20), ("wednesday", 10)):
        for status in ("applied", "already_applied"):
            assert status_of(reset(home, Task(task_id="it", run_id=run_id))) == status
            assert newest(home) == f'{{"orders":{{"0":{offset},"1":{offset}}}}}'
    assert status_of(reset(home, Task(task_id="it"))) == "already_applied", "the first one is cleared"


def test_a_shift_that_one_task_plans_and_another_makes_is_made_once_in_each_run(ready):
    home = ready(reset)
    for run_id, offset in (("monday", 30), ("tuesday", 20)):
        for status in ("applied", "already_applied"):
            planning = Task(task_id="plan", run_id=run_id)
            arguments = reset.arguments(str(home))
            CheckpointResetOffsetsOperator(task_id="t", plan_only=True, **arguments).execute({"ti": planning})
            task = Task(task_id="it", run_id=run_id)
            done = run(CheckpointResetOffsetsOperator, home, task, plan=planning.pushed["plan"], **DO_IT)
            assert status_of(done) == status
            assert newest(home) == f'{{"orders":{{"0":{offset},"1":{offset}}}}}'


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
