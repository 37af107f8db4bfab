"""The operator that rolls back: to a backup, with a plan that another task made, and under whose name."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.operators.checkpoint import CheckpointRestoreOperator, CheckpointRollbackOperator
from airflow_provider_ckpt.store import Store
from tests.lifecycle.fake_query import FakeQuery, purge

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
            taken = lifecycle.take_backup(query.store, root)
    purge(query, 5)
    return f"{root.location}/{taken.backup_id}"


def roll_back(tmp_path: Path, task: Task, **arguments: Any) -> dict[str, Any]:
    operator = CheckpointRollbackOperator(
        task_id=task.task_id,
        checkpoint=str(tmp_path / "orders"),
        query_is_stopped=True,
        quiet_period=0,
        **arguments,
    )
    return operator.execute({"ti": task})


def test_the_plan_to_a_purged_backup_is_shown_approved_and_applied(tmp_path, backup):
    task, checkpoint = Task(), Store.open(str(tmp_path / "orders"))
    planned = roll_back(tmp_path, task, to_backup=backup, plan_only=True)
    assert planned["batch_id"] == 2 and "come back from backup" in planned["notes"][-1]
    assert lifecycle.observe(checkpoint).latest_committed == 7
    done = roll_back(tmp_path, task, plan=task.pushed["plan"], approved_by="ann", accept_sink=planned["accept"])
    assert (done["plan_id"], done["receipt"]["status"]) == (planned["plan_id"], "applied")
    assert lifecycle.observe(checkpoint).latest_committed == 2
    (change,) = lifecycle.history(checkpoint)
    assert (change.by, change.approved_by, change.accepted_sink) == ("recover/monday/rollback", "ann", ("unknown",))


def test_without_a_person_only_the_task_is_named(tmp_path, backup):
    roll_back(tmp_path, Task(), to_backup=backup, approved_by="", accept_sink="unknown")
    assert lifecycle.history(Store.open(str(tmp_path / "orders")))[0].by == "recover/monday/rollback"


def test_an_effect_on_the_sink_that_nobody_accepted_is_refused(tmp_path, backup):
    before = lifecycle.observe(Store.open(str(tmp_path / "orders")))
    for words in (None, "", [], "skipped", "['skipped', 'duplicated']"):
        with pytest.raises(AirflowFailException, match="on the sink, which was not declared, is unknown"):
            roll_back(tmp_path, Task(), to_batch=6, accept_sink=words)
    with pytest.raises(AirflowFailException, match="is one of exact, duplicated, skipped, unknown, not 'lost'"):
        roll_back(tmp_path, Task(), to_batch=6, accept_sink="lost")
    assert lifecycle.observe(Store.open(str(tmp_path / "orders"))).objects == before.objects
    assert roll_back(tmp_path, Task(), to_batch=6, accept_sink="['skipped', 'unknown']")["receipt"]


def test_an_approval_that_is_older_than_the_plan_is_refused(tmp_path, backup):
    """The task that plans was cleared after the approval, and has planned anew."""
    approved_at, task = datetime.now(UTC), Task()
    time.sleep(0.01)
    planned = roll_back(tmp_path, task, to_batch=6, plan_only=True)
    approved = {"plan": task.pushed["plan"], "approved_by": "ann", "accept_sink": planned["accept"]}
    for given in (approved_at, approved_at.isoformat()):
        with pytest.raises(AirflowFailException, match="is older than the plan"):
            roll_back(tmp_path, Task(), approved_at=given, **approved)
    assert roll_back(tmp_path, Task(), approved_at=datetime.now(UTC), **approved)["receipt"]


def test_a_plan_of_another_checkpoint_is_refused(tmp_path, backup):
    task = Task()
    roll_back(tmp_path, task, to_batch=6, plan_only=True)
    plan = {**task.pushed["plan"], "location": "/elsewhere"}
    with pytest.raises(AirflowFailException, match="not a rollback of this checkpoint"):
        roll_back(tmp_path, Task(), plan=plan, accept_sink="unknown")


@pytest.mark.parametrize("value", [[{}], [], "[]", 7, "no plan", "{", {"kind": "rollback"}])
def test_what_is_no_plan_is_refused(tmp_path, backup, value):
    """Such as the list that the XComs of a mapped task are."""
    before = lifecycle.observe(Store.open(str(tmp_path / "orders")))
    with pytest.raises(AirflowFailException):
        roll_back(tmp_path, Task(), plan=value, accept_sink="unknown")
    assert lifecycle.observe(Store.open(str(tmp_path / "orders"))).objects == before.objects


def test_a_restore_takes_the_plan_that_was_approved(tmp_path, backup):
    task, root = Task(), backup.rpartition("/")[0]

    def restore(**arguments: Any) -> dict[str, Any]:
        given = {"task_id": "restore", "checkpoint": str(tmp_path / "new"), "backup_root": root, **arguments}
        return CheckpointRestoreOperator(**given).execute({"ti": task})

    planned = restore(plan_only=True)
    with pytest.raises(AirflowFailException, match="not declared, is unknown"):
        restore(plan=task.pushed["plan"])
    done = restore(plan=task.pushed["plan"], accept_sink=planned["accept"], approved_by="ann")
    assert done["plan_id"] == planned["plan_id"]
    assert lifecycle.history(Store.open(str(tmp_path / "new")))[0].approved_by == "ann"


def test_two_targets_are_refused(tmp_path, backup):
    with pytest.raises(AirflowFailException, match="by one of batch, .*, backup; given: batch and backup"):
        roll_back(tmp_path, Task(), to_batch=6, to_backup=backup)


def test_the_target_and_the_name_are_templates():
    assert {"to_backup", "accept_sink", "approved_by", "approved_at"} <= set(CheckpointRollbackOperator.template_fields)
