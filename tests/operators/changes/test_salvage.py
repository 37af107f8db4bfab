"""A salvage as a task."""

from __future__ import annotations

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.operators.checkpoint import CheckpointSalvageOperator
from airflow_provider_ckpt.storage.store import Store
from tests.changes.salvage.damage import cut
from tests.operators.each_change import DO_IT, TASK, committed, made, run, salvage, tree
from tests.operators.pages import carried_out
from tests.operators.task import Task

pytestmark = pytest.mark.airflow


def test_a_checkpoint_that_needs_nothing_stays_as_it_is(tmp_path):
    committed(tmp_path, 5)
    before = tree(tmp_path)
    done = run(CheckpointSalvageOperator, tmp_path, TASK, **DO_IT)
    assert (done["actions"], done["receipt"]["status"]) == (0, "already_applied")
    assert (tree(tmp_path), made(tmp_path)) == (before, [])


def test_what_it_lacks_comes_from_a_backup(tmp_path):
    query = committed(tmp_path, 5)
    take_backup(query.store, Store.open(str(tmp_path / "backups")))
    before = tree(tmp_path)
    cut(tmp_path / "orders/offsets/5")
    done = run(CheckpointSalvageOperator, tmp_path, TASK, backup_root=str(tmp_path / "backups"), **DO_IT)
    assert (done["batch_id"], done["receipt"]["status"]) == (5, "applied")
    assert tree(tmp_path)["orders/offsets/5"] == before["orders/offsets/5"]


def test_the_plan_that_a_person_has_approved_is_carried_out_and_refused_when_the_checkpoint_has_changed(tmp_path):
    salvage.before(tmp_path, tmp_path)
    damaged, planned = tree(tmp_path), Task()
    run(CheckpointSalvageOperator, tmp_path, planned, plan_only=True)
    assert tree(tmp_path) == damaged
    cut(tmp_path / "orders/offsets/4")
    with pytest.raises(AirflowFailException, match="STALE_PLAN"):
        run(CheckpointSalvageOperator, tmp_path, TASK, plan=planned.pushed["plan"], **DO_IT)
    run(CheckpointSalvageOperator, tmp_path, planned, plan_only=True)
    done = run(CheckpointSalvageOperator, tmp_path, TASK, plan=planned.pushed["plan"], **DO_IT)
    assert (done["batch_id"], done["receipt"]["status"]) == (3, "applied")


def test_the_task_of_the_page_does_what_it_says(tmp_path):
    salvage.before(tmp_path, tmp_path)
    places = {"s3://lake/checkpoints": str(tmp_path)}
    (done,) = carried_out("docs/how-to/salvage.md", "tests/operators/changes/test_salvage.py", places, quiet_period=0)
    assert (done["batch_id"], done["sink_effect"], done["receipt"]["status"]) == (4, "duplicated", "applied")
