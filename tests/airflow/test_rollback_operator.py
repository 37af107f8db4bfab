"""The operator that rolls back: to a backup, with a plan that another task made, and under whose name."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change import guard
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.operators.checkpoint import CheckpointRestoreOperator, CheckpointRollbackOperator
from airflow_provider_ckpt.restart.bookmark import take_bookmark
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery, purge

pytestmark = pytest.mark.airflow


@dataclass
class Task:
    """The task instance, as far as the operator asks it."""

    dag_id: str = "recover"
    run_id: str = "monday"
    task_id: str = "rollback"
    pushed: dict[str, Any] = field(default_factory=dict)

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = json.loads(json.dumps(value))


@pytest.fixture
def backup(tmp_path: Path) -> str:
    """ROOT/ID of a backup of batch 2, which the query in ``orders`` has purged since."""
    query, root = FakeQuery(Store.open(str(tmp_path / "orders"))), Store.open(str(tmp_path / "backups"))
    for batch_id in range(8):
        query.commit(batch_id)
        if batch_id == 2:
            taken = take_backup(query.store, root)
    purge(query, 5)
    return f"{root.location}/{taken.backup_id}"


def roll_back(tmp_path: Path, task: Task, **arguments: Any) -> dict[str, Any]:
    operator = CheckpointRollbackOperator(
        task_id=task.task_id,
        checkpoint=str(tmp_path / "orders"),
        **{"query_is_stopped": True, "quiet_period": 0, **arguments},
    )
    return operator.execute({"ti": task})


def test_the_plan_to_a_purged_backup_is_shown_approved_and_applied(tmp_path, backup):
    task, checkpoint = Task(), Store.open(str(tmp_path / "orders"))
    planned = roll_back(tmp_path, task, to_backup=backup, plan_only=True)
    assert planned["batch_id"] == 2 and "are copied from backup" in planned["notes"][-1]
    assert observe(checkpoint).latest_committed == 7
    done = roll_back(tmp_path, task, plan=task.pushed["plan"], approved_by="ann", accept_sink=planned["accept_sink"])
    assert (done["plan_id"], done["receipt"]["status"]) == (planned["plan_id"], "applied")
    assert observe(checkpoint).latest_committed == 2
    (change,) = history(checkpoint)
    assert (change.by, change.approved_by, change.accepted_sink) == ("recover/monday/rollback", "ann", ("unknown",))


def test_without_a_person_only_the_task_is_named(tmp_path, backup):
    roll_back(tmp_path, Task(), to_backup=backup, approved_by="", accept_sink="unknown")
    assert history(Store.open(str(tmp_path / "orders")))[0].by == "recover/monday/rollback"


def test_a_login_of_digits_that_a_template_made_a_number_is_the_approver(tmp_path, backup):
    roll_back(tmp_path, Task(), to_backup=backup, approved_by=20261122, accept_sink="unknown")
    assert history(Store.open(str(tmp_path / "orders")))[0].approved_by == "20261122"


@pytest.mark.parametrize("name", [["anna"], {"name": "anna"}, True], ids=str)
def test_an_approver_that_is_no_text_is_refused_with_nothing_done(tmp_path, backup, name):
    before = Store.open(str(tmp_path / "orders")).find()
    with pytest.raises(AirflowFailException, match="approved_by must be a text"):
        roll_back(tmp_path, Task(), to_backup=backup, approved_by=name, accept_sink="unknown")
    assert Store.open(str(tmp_path / "orders")).find() == before


def test_an_effect_on_the_sink_that_nobody_accepted_is_refused(tmp_path, backup):
    before = observe(Store.open(str(tmp_path / "orders")))
    for words in (None, "", [], "skipped", "['skipped', 'duplicated']"):
        with pytest.raises(AirflowFailException, match="on the sink, which was not declared, is unknown"):
            roll_back(tmp_path, Task(), to_batch=6, accept_sink=words)
    with pytest.raises(
        AirflowFailException, match="'lost' is not a sink effect .* one of exact, duplicated, skipped, unknown"
    ):
        roll_back(tmp_path, Task(), to_batch=6, accept_sink="lost")
    assert observe(Store.open(str(tmp_path / "orders"))).objects == before.objects
    assert roll_back(tmp_path, Task(), to_batch=6, accept_sink="['skipped', 'unknown']")["receipt"]


def test_an_approval_that_is_older_than_the_plan_is_refused(tmp_path, backup):
    """The task that plans was cleared after the approval, and has planned anew."""
    approved_at, task = datetime.now(UTC), Task()
    time.sleep(0.01)
    planned = roll_back(tmp_path, task, to_batch=6, plan_only=True)
    approved = {"plan": task.pushed["plan"], "approved_by": "ann", "accept_sink": planned["accept_sink"]}
    for given in (approved_at, approved_at.isoformat()):
        with pytest.raises(AirflowFailException, match="before plan"):
            roll_back(tmp_path, Task(), approved_at=given, **approved)
    assert roll_back(tmp_path, Task(), approved_at=datetime.now(UTC), **approved)["receipt"]


@pytest.mark.parametrize("given", ["", "None", " ", "yesterday", 5, True, ["x"]], ids=repr)
def test_an_approval_without_a_time_is_not_one_that_was_not_asked_for(tmp_path, backup, given):
    """A template renders what is not there as text; only None of Python is not given."""
    with pytest.raises(AirflowFailException, match="approved_at is not a time"):
        roll_back(tmp_path, Task(), to_batch=6, accept_sink="unknown", approved_at=given)
    assert roll_back(tmp_path, Task(), to_batch=6, accept_sink="unknown", approved_at=None)["receipt"]


@pytest.mark.parametrize("words", [{"unknown": False}, "{'unknown': False}", [["unknown"]], 7], ids=str)
def test_an_acceptance_is_a_list_or_a_text(tmp_path, backup, words):
    with pytest.raises(AirflowFailException, match="accept_sink must be a list of texts"):
        roll_back(tmp_path, Task(), to_batch=6, accept_sink=words)


@pytest.mark.parametrize("given", ["False", "RUNNING", "", 1, None, ["stopped"]], ids=repr)
@pytest.mark.parametrize("word", ["query_is_stopped", "break_lock"])
def test_a_word_is_true_or_not_given(tmp_path, backup, word, given):
    """The answer of a callable as well: the state of a job, say, is text that is true whatever it says."""
    for answer in (given, *((lambda: given,) if word == "query_is_stopped" else ())):
        with pytest.raises(AirflowFailException, match=f"{word} must be True or False"):
            roll_back(tmp_path, Task(), to_batch=6, accept_sink="unknown", **{word: answer})
    assert history(Store.open(str(tmp_path / "orders"))) == ()
    stopped = {"query_is_stopped": lambda: True} if word == "query_is_stopped" else {word: True}
    assert roll_back(tmp_path, Task(), to_batch=6, accept_sink="unknown", **stopped)["receipt"]


def test_a_plan_of_another_checkpoint_is_refused(tmp_path, backup):
    task = Task()
    roll_back(tmp_path, task, to_batch=6, plan_only=True)
    pushed = task.pushed["plan"]
    elsewhere = {**pushed["plan"], "location": "/elsewhere"}
    for plan, said in (
        (elsewhere, "not a rollback of this checkpoint"),
        ({**pushed, "plan": elsewhere}, "the plan was edited after it was written"),
        ({**pushed, "format_version": 2}, "the plan file has a format version that this release of ckpt does not read"),
    ):
        with pytest.raises(AirflowFailException, match=said):
            roll_back(tmp_path, Task(), plan=plan, accept_sink="unknown")


def test_a_plan_that_was_pushed_without_a_version_is_carried_out(tmp_path, backup):
    task = Task()
    roll_back(tmp_path, task, to_batch=6, plan_only=True)
    done = roll_back(tmp_path, Task(), plan=task.pushed["plan"]["plan"], accept_sink="unknown")
    assert done["receipt"]["plan_id"] == task.pushed["plan"]["plan_id"]


@pytest.mark.parametrize("value", [[{}], [], "[]", 7, "no plan", "{", {"kind": "rollback"}])
def test_what_is_no_plan_is_refused(tmp_path, backup, value):
    """Such as the list that the XComs of a mapped task are."""
    before = observe(Store.open(str(tmp_path / "orders")))
    with pytest.raises(AirflowFailException):
        roll_back(tmp_path, Task(), plan=value, accept_sink="unknown")
    assert observe(Store.open(str(tmp_path / "orders"))).objects == before.objects


def test_a_restore_takes_the_plan_that_was_approved(tmp_path, backup):
    task, root = Task(), backup.rpartition("/")[0]

    def restore(**arguments: Any) -> dict[str, Any]:
        given = {"task_id": "restore", "checkpoint": str(tmp_path / "new"), "backup_root": root, **arguments}
        return CheckpointRestoreOperator(**given).execute({"ti": task})

    planned = restore(plan_only=True)
    with pytest.raises(AirflowFailException, match="not declared, is unknown"):
        restore(plan=task.pushed["plan"])
    done = restore(plan=task.pushed["plan"], accept_sink=planned["accept_sink"], approved_by="ann")
    assert done["plan_id"] == planned["plan_id"]
    assert history(Store.open(str(tmp_path / "new")))[0].approved_by == "ann"


def test_two_targets_are_refused(tmp_path, backup):
    with pytest.raises(AirflowFailException, match="exactly one of to_batch, .*; given: to_batch and to_backup"):
        roll_back(tmp_path, Task(), to_batch=6, to_backup=backup)


def test_an_approval_task_that_was_marked_as_a_success_is_no_approval(tmp_path, backup):
    task = Task()
    planned = roll_back(tmp_path, task, to_batch=6, plan_only=True)
    operator = CheckpointRollbackOperator(
        task_id="rollback",
        checkpoint=str(tmp_path / "orders"),
        plan=task.pushed["plan"],
        accept_sink=planned["accept_sink"],
        approved_at="{{ (ti.xcom_pull(task_ids='approve') or {}).get('responded_at') }}",
        query_is_stopped=True,
        quiet_period=0,
    )
    operator.approved_at = None  # what Airflow renders of a task that has pushed nothing
    with pytest.raises(AirflowFailException, match="nobody has approved plan .* no answer"):
        operator.execute({"ti": task})
    assert observe(Store.open(str(tmp_path / "orders"))).latest_committed == 7


def test_a_deploy_is_taken_back_by_the_bookmark_of_its_gate(tmp_path, backup):
    bookmark = take_bookmark(observe(Store.open(str(tmp_path / "orders")), batch_id=7)).to_dict()
    query = FakeQuery(Store.open(str(tmp_path / "orders")))
    query.commit(8)
    for given in (bookmark, json.dumps(bookmark)):
        planned = roll_back(tmp_path, Task(), to_before_deploy=given, plan_only=True)
        assert planned["batch_id"] == 7 and planned["notes"][0].endswith("when the bookmark was taken.")
    with pytest.raises(AirflowFailException, match="not a bookmark"):
        roll_back(tmp_path, Task(), to_before_deploy={"batch": 7})


def test_the_target_and_the_name_are_templates():
    assert {"to_backup", "to_before_deploy", "accept_sink", "approved_by", "approved_at"} <= set(
        CheckpointRollbackOperator.template_fields
    )


@pytest.mark.parametrize("quiet_period", [0, 0.05, "0s", "PT0.05S", timedelta(milliseconds=50), None])
def test_a_quiet_period_is_a_duration_in_every_form(tmp_path, backup, monkeypatch, quiet_period):
    for least in ("MIN_WATCH_S", "MIN_QUIET_S"):  # of the period that is derived from the commits
        monkeypatch.setattr(guard, least, 0.05)
    done = roll_back(tmp_path, Task(), to_batch=6, accept_sink="unknown", quiet_period=quiet_period)
    assert done["receipt"]["status"] == "applied"


def test_a_quiet_period_that_is_none_is_refused(tmp_path, backup):
    with pytest.raises(AirflowFailException, match="quiet_period: 'soon' is not a duration"):
        roll_back(tmp_path, Task(), to_batch=6, accept_sink="unknown", quiet_period="soon")


def test_who_cannot_find_out_whether_the_query_is_stopped_has_not_said_so(tmp_path, backup):
    with pytest.raises(AirflowFailException, match="query_is_stopped failed, .* ZeroDivisionError"):
        roll_back(tmp_path, Task(), to_batch=6, accept_sink="unknown", query_is_stopped=lambda: 1 / 0)
    assert history(Store.open(str(tmp_path / "orders"))) == ()
