"""Under a real scheduler with PostgreSQL: every operator of the DAGs here once, as one run of each DAG."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.airflow.all_operators import CONF, check_outcome, connection
from tests.airflow.conftest import HERE, ROOT
from tests.airflow_stack import AirflowStack
from tests.operators.each_change import fence, fenced, made, repair, reset, salvage, seed, sources
from tests.postgres import cluster

pytestmark = [pytest.mark.airflow, pytest.mark.exhaustive]

#: How the home of each task is made, and which changes there are after it.
TASKS = {
    "fence": (fence, [("fence", 5, "undone"), ("undo", 5, "applied")]),
    "salvage": (salvage, [("salvage", 4, "applied")]),
    "repair": (repair, [("repair", 23, "applied")]),
    "seed": (seed, [("seed", 3, "applied")]),
    "sources": (sources, [("fence", 3, "applied"), ("sources", 3, "applied")]),
    "rollback": (fenced, [("fence", 5, "applied"), ("rollback", 3, "applied")]),
    "reset": (reset, [("fence", 3, "applied"), ("reset", 3, "applied")]),
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowStack]:
    home = tmp_path_factory.mktemp("stack")
    env = {"PYTHONPATH": str(ROOT), "AIRFLOW_CONN_LAKE": connection(str(home / "lake"))}
    with cluster() as database:
        stack = AirflowStack(home / "home", HERE / "dags", env, database=database)
        try:
            yield stack.start()
        finally:
            stack.stop()


def run(stack: AirflowStack, dag: str, **conf: object) -> str:
    """A run of a DAG that ends well; its id."""
    run_id = stack.trigger(dag, **conf)

    def ended() -> str | None:
        (state,) = [item["state"] for item in stack.runs(dag) if item["dag_run_id"] == run_id]
        return state if state in ("success", "failed") else None

    assert stack.wait_for(f"the end of {dag}", ended) == "success"
    return run_id


def test_each_change_once(stack, tmp_path):
    for name, (change, _) in TASKS.items():
        change.before(tmp_path / name, tmp_path)
    run_id = run(stack, "changes_once", home=str(tmp_path))
    assert {name: made(tmp_path / name) for name in TASKS} == {name: changes for name, (_, changes) in TASKS.items()}
    told = {name: stack.returned("changes_once", run_id, name) for name in (*TASKS, "undo")}
    assert {name: (item["kind"], item["receipt"]["status"]) for name, item in told.items()} == {
        name: (name, "applied") for name in told
    }


def test_every_operator_of_a_checkpoint_through_a_connection(stack, goldens):
    lake = stack.home.parent / "lake"
    shutil.copytree(goldens["4.3.0/agg-hdfs"] / "checkpoint", lake / "cp")
    run(stack, "all_operators", **CONF)
    check_outcome(str(lake))
