"""In a real Airflow on PostgreSQL: an undo that is killed, tried again and cleared takes back one change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.journal import history
from airflow_provider_ckpt.storage.store import Store
from tests.airflow.conftest import HERE, ROOT
from tests.airflow_stack import AirflowStack
from tests.fake_query import FakeQuery, after_rollback, read_all
from tests.postgres import cluster

pytestmark = [pytest.mark.airflow, pytest.mark.exhaustive]

DAG = "back_and_forth"
#: Before which write of an undo its process is killed; 0 is after its receipt.
DIES_AT = (0, 1, 12, 24, 36)
SETTINGS = {"AIRFLOW__CORE__PARALLELISM": "4", "PYTHONPATH": str(ROOT)}
#: How the changes of a run are recorded: the first rollback stands, the second one is taken back.
RECORDED = [("rollback", 5, "applied"), ("rollback", 3, "undone"), ("undo", 5, "applied")]


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[AirflowStack]:
    """An Airflow with the DAG."""
    with cluster() as database:
        stack = AirflowStack(tmp_path / "home", HERE / "change_dags", SETTINGS, database=database)
        try:
            yield stack.start()
        finally:
            stack.stop()


def made(store: Store) -> list[tuple[str, int, str]]:
    """The changes that were made; a plan that a killed process has not begun to carry out is none."""
    return [
        (item.plan.kind, item.plan.batch_id, item.state)
        for item in history(store)
        if item.state not in ("planned", "refused")
    ]


def test_an_undo_that_is_killed_tried_again_and_cleared_takes_back_one_change(stack, tmp_path):
    queries, runs = {}, {}
    for write in DIES_AT:
        query = queries[write] = FakeQuery(Store.open(str(tmp_path / f"lake{write}" / "orders")))
        for batch_id in range(8):
            query.commit(batch_id)
        runs[write] = stack.trigger(DAG, checkpoint=query.store.location, dies_at=write)

    def ended(write: int, try_number: int) -> str:
        """The status of the receipt of a try of the undo, once it has ended; and all that has to hold then."""
        run, query = runs[write], queries[write]
        stack.wait_for(
            f"try {try_number} of the undo of run {write}",
            lambda: stack.task(DAG, run, "undo").items() >= {"state": "success", "try_number": try_number}.items(),
            240,
        )
        assert made(query.store) == RECORDED, f"killed before write {write}, try {try_number}"
        assert read_all(query.store) == after_rollback(query.files, 5), f"killed before write {write}"
        return stack.returned(DAG, run, "undo")["receipt"]["status"]

    again = {write: ended(write, 2) for write in DIES_AT}
    assert (again[0], again[1]) == ("already_applied", "applied")

    for run in runs.values():
        clear = {"dry_run": False, "only_failed": False, "dag_run_id": run, "task_ids": ["first", "undo"]}
        stack.request("POST", f"/api/v2/dags/{DAG}/clearTaskInstances", clear)
    assert {ended(write, 3) for write in DIES_AT} == {"already_applied"}
    for run in runs.values():
        assert stack.returned(DAG, run, "first")["receipt"]["status"] == "already_applied"
