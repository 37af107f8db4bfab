"""The operator that rolls back: to a backup, with a plan that another task made, and under whose name."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.operators.checkpoint import CheckpointRollbackOperator
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
    done = roll_back(tmp_path, task, plan=task.pushed["plan"], approved_by="ann")
    assert (done["plan_id"], done["receipt"]["status"]) == (planned["plan_id"], "applied")
    assert lifecycle.observe(checkpoint).latest_committed == 2
    assert lifecycle.history(checkpoint)[0].by == "recover/monday/rollback, approved by ann"


def test_without_a_person_only_the_task_is_named(tmp_path, backup):
    roll_back(tmp_path, Task(), to_backup=backup, approved_by="")
    assert lifecycle.history(Store.open(str(tmp_path / "orders")))[0].by == "recover/monday/rollback"


def test_two_targets_are_refused(tmp_path, backup):
    with pytest.raises(AirflowFailException, match="by one of batch, .*, backup; given: batch and backup"):
        roll_back(tmp_path, Task(), to_batch=6, to_backup=backup)


def test_the_target_and_the_name_are_templates():
    assert {"to_backup", "approved_by"} <= set(CheckpointRollbackOperator.template_fields)
