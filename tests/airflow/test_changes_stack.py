"""Changes under a real scheduler on PostgreSQL: tasks that are killed, tried again and cleared make each change once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.journal import history
from airflow_provider_ckpt.storage.store import Store
from tests.airflow_stack import AirflowStack
from tests.fake_query import FakeQuery, read_all
from tests.postgres import cluster

pytestmark = [pytest.mark.airflow, pytest.mark.exhaustive]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
#: Before which of its writes each task dies at its first try; 0 is after the last one.
KILLS = [
    {"first": 3, "second": 12, "undo": 0},
    {"first": 0, "second": 0, "undo": 3},
    {"first": 20, "second": 28, "undo": 14},
    {"undo": 30},
]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowStack]:
    home = tmp_path_factory.mktemp("stack")
    (home / "dags").mkdir()
    (home / "dags" / "changed.py").symlink_to(HERE / "stack_dags" / "changed.py")
    connection = {"conn_type": "checkpoint", "host": str(home / "streams")}
    with cluster() as database:
        stack = AirflowStack(
            home,
            home / "dags",
            {"AIRFLOW_CONN_STREAMS": json.dumps(connection), "PYTHONPATH": str(ROOT)},
            database=database,
        )
        try:
            yield stack.start()
        finally:
            stack.stop()


@pytest.mark.parametrize("kills", KILLS, ids=str)
def test_killed_tried_again_and_cleared_each_change_is_made_once(stack, kills):
    name = f"changed{KILLS.index(kills)}"
    query = FakeQuery(Store.open(str(stack.home / "streams" / name)))
    for batch_id in range(8):
        query.commit(batch_id)
    run = stack.trigger("changed", checkpoint=name, home=str(stack.home / "streams"), dies=kills)
    for task in ("first", "second", "undo"):
        done = stack.wait_for_task("changed", run, task, "success")
        assert done["try_number"] == (2 if task in kills else 1), "it was killed, and tried again"

    def made():
        acted = [item for item in history(query.store) if item.state not in ("planned", "refused")]
        return [(item.plan.kind, item.plan.batch_id, item.state) for item in acted]

    there = (read_all(query.store), made())
    assert there[1] == [("rollback", 5, "applied"), ("rollback", 3, "undone"), ("undo", 5, "applied")]
    assert "commits/5" in there[0] and "commits/6" not in there[0]
    tries = stack.task("changed", run, "undo")["try_number"]
    ended = {"dag_run_id": run, "state": "success"}  # until then the scheduler takes a cleared task for done
    stack.wait_for("the run", lambda: any(item.items() >= ended.items() for item in stack.runs("changed")), 300)
    clear = {"dry_run": False, "only_failed": False, "dag_run_id": run, "task_ids": ["undo"]}
    stack.request("POST", "/api/v2/dags/changed/clearTaskInstances", clear)
    again = {"try_number": tries + 1, "state": "success"}
    stack.wait_for("another try", lambda: stack.task("changed", run, "undo").items() >= again.items(), 300)
    assert stack.returned("changed", run, "undo")["receipt"]["status"] == "already_applied"
    assert (read_all(query.store), made()) == there
