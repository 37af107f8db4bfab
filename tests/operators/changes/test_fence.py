"""A fence as a task: what it puts, what it finds, and changes that are made behind one."""

from __future__ import annotations

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointFenceOperator,
    CheckpointResetOffsetsOperator,
    CheckpointRestoreOperator,
    CheckpointRollbackOperator,
    CheckpointSourcesOperator,
    CheckpointUndoOperator,
)
from tests.changes.repartition.forged_spark import GOLDEN
from tests.operators.each_change import DO_IT, EARLIER, TASK, committed, forge, made, reset, restore, run, sources, tree
from tests.operators.pages import carried_out
from tests.operators.task import Task

pytestmark = pytest.mark.airflow

QUERY_RUNS = {"fence": True, "accept_sink": "unknown"}


@pytest.fixture
def home(tmp_path, goldens, monkeypatch):
    """A directory for a query; no broker and no Spark is asked, and nothing is waited for."""
    forge(tmp_path / "home", goldens[f"4.3.0/{GOLDEN}"], monkeypatch)
    return tmp_path / "home"


def fence(home, task=TASK, **arguments):
    return run(CheckpointFenceOperator, home, task, **arguments)


def test_a_fence_is_an_entry_behind_the_newest_batch_and_a_record(home):
    committed(home, 3)
    before = tree(home)
    done = fence(home)
    assert (done["kind"], done["batch_id"], done["sink_effect"]) == ("fence", 3, "exact")
    assert done["receipt"]["status"] == "applied"
    assert tree(home).keys() - before.keys() == {"orders/offsets/4"}
    assert made(home) == [("fence", 3, "applied")]


def test_a_plan_alone_changes_nothing(home):
    committed(home, 3)
    before = tree(home)
    assert fence(home, plan_only=True)["receipt"] is None
    assert (tree(home), made(home)) == (before, [])


def test_who_asks_for_a_fence_that_is_there_finds_it(home):
    committed(home, 3)
    fence(home, EARLIER)
    assert fence(home)["receipt"]["status"] == "already_applied"
    assert made(home) == [("fence", 3, "applied")]


def test_a_task_that_is_cleared_after_the_query_was_started_puts_no_second_fence(home):
    query = committed(home, 3)
    fence(home)
    for batch_id in (4, 5):
        query.commit(batch_id)
    there = tree(home)
    assert fence(home)["receipt"]["status"] == "already_applied"
    assert tree(home) == there
    assert fence(home, Task(task_id="it", run_id="tuesday"))["receipt"]["status"] == "applied"


def test_a_fence_that_was_undone_is_put_again(home):
    committed(home, 3)
    fence(home)
    run(CheckpointUndoOperator, home, EARLIER, **DO_IT)
    assert fence(home)["receipt"]["status"] == "applied"


def test_a_batch_in_flight_is_waited_for_no_longer_than_was_said(home):
    committed(home, 3).plan(4)
    before = tree(home)
    with pytest.raises(Exception, match=r"batch 4 is in flight.* was not committed within 0"):
        fence(home, wait_for_batch="0s")
    assert tree(home) == before


def test_real_time_is_refused(home):
    committed(home, 3)
    with pytest.raises(AirflowFailException, match="real"):
        fence(home, trigger="realTime")


@pytest.mark.parametrize("change", [reset, sources], ids=str)
def test_a_change_behind_a_fence_needs_no_word_and_keeps_the_query_out(home, change):
    change.before(home, home)
    arguments = {**change.arguments(str(home)), **QUERY_RUNS}
    for name in ("query_is_stopped", "quiet_period"):
        arguments.pop(name)
    done = change.kind(task_id="t", **arguments).execute({"ti": TASK})
    assert done["receipt"]["status"] == "applied"
    assert made(home) == [("fence", 3, "applied"), (change.kind.request().kind, 3, "applied")]


def test_a_restore_fences_the_checkpoint_that_the_backup_was_taken_from(home):
    restore.before(home, home)
    run(CheckpointRestoreOperator, home, TASK, backup_root=str(home / "backups"), fence=True, accept_sink="unknown")
    assert made(home / "live") == [("fence", 5, "applied")]
    assert made(home) == [("restore", 5, "applied")]
    with pytest.raises(AirflowFailException, match="fence acts when the backup is restored"):
        run(CheckpointRestoreOperator, home, TASK, backup_root=str(home / "backups"), fence=True, plan_only=True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"fence": True, "query_is_stopped": True}, "fence is in place of query_is_stopped"),
        ({"fence": True, "query_is_stopped": lambda: True}, "fence is in place of query_is_stopped"),
        ({"fence": True, "plan": {"plan_id": "p"}}, "fence goes with a change that is planned now"),
        ({"fence": True, "wait_for_batch": "soon"}, "wait_for_batch"),
        ({"fence": True, "plan_only": True}, "this checkpoint is not fenced"),
        ({"fence": "yes"}, "fence must be True or False"),
    ],
    ids=range(6),
)
@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (CheckpointRollbackOperator, {"to_batch": 1}),
        (CheckpointResetOffsetsOperator, {"source": "0=kafka:forged:9092", "to_earliest": True}),
        (CheckpointSourcesOperator, {"continued": {"0": "1", "1": "0"}}),
    ],
)
def test_what_does_not_go_with_a_fence_is_refused_before_one_is_put(home, kind, more, arguments, said):
    sources.before(home, home)
    before = tree(home)
    with pytest.raises(AirflowFailException, match=said):
        run(kind, home, TASK, **more, **arguments)
    assert (tree(home), made(home)) == (before, [])


def test_a_plan_that_is_made_behind_a_fence_is_carried_out_without_a_word(home):
    committed(home, 5)
    fence(home, EARLIER)
    planned = Task()
    run(CheckpointRollbackOperator, home, planned, to_batch=3, fence=True, plan_only=True)
    done = run(CheckpointRollbackOperator, home, TASK, plan=planned.pushed["plan"], accept_sink="unknown")
    assert done["receipt"]["status"] == "applied"


def test_the_tasks_of_the_page_do_what_it_says(home):
    committed(home, 43)
    places = {"s3://lake/checkpoints": str(home)}
    done = list(carried_out("docs/how-to/fence.md", "tests/operators/changes/test_fence.py", places))
    assert [item["receipt"]["status"] for item in done] == ["applied", "applied"]
    assert made(home) == [("fence", 43, "applied"), ("rollback", 41, "applied")]
