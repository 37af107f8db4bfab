"""The task group of backups, as it is made; tests/airflow runs it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG

from airflow_provider_ckpt.dags import back_up_queries, backup, backup_dag

pytestmark = pytest.mark.airflow


def test_it_backs_up_prunes_and_rehearses():
    with DAG("mine") as dag:
        back_up_queries(["/a", "/b"], backup_root="/backups", keep={"keep_last": 2}, tags=["t"])
    group = "back_up_queries."
    assert {task.task_id.removeprefix(group): {*task.downstream_task_ids} for task in dag.tasks} == {
        "back_up": {f"{group}prune", f"{group}rehearse"},
        "prune": {f"{group}is_rehearsal_day"},
        "is_rehearsal_day": {f"{group}rehearse"},
        "rehearse": set(),
    }
    prune = dag.get_task(f"{group}prune")
    assert (prune.partial_kwargs["keep_last"], prune.trigger_rule) == (2, "all_done")
    assert prune.expand_input.value == [{"backup_root": "/backups"}]


def test_each_query_of_the_file_has_a_root_of_its_own():
    with DAG("mine") as dag:
        back_up_queries(["orders", "totals"])
    for name in ("back_up", "prune"):
        assert dag.get_task(f"back_up_queries.{name}").expand_input.value == [{"query": "orders"}, {"query": "totals"}]


def test_what_nobody_keeps_by_an_argument_is_kept_as_the_file_says_or_as_ever():
    with DAG("mine") as dag:
        back_up_queries(["orders"])
    kept = dag.get_task("back_up_queries.prune").partial_kwargs
    assert (kept["keep_otherwise"], kept["min_redundancy"]) == (backup.KEEP, 2)
    assert not {"keep_last", "keep_daily"} & kept.keys()


def test_a_location_needs_a_root():
    with DAG("mine"), pytest.raises(ValueError, match="give backup_root"):
        back_up_queries(["orders", "/lake/totals"])


def test_a_rehearsal_is_of_the_backup_that_was_taken_and_of_its_query():
    assert backup.rehearsed({"backup_id": "b", "query": "orders", "batch_id": 1}) == {
        "backup_id": "b",
        "query": "orders",
    }
    assert backup.rehearsed({"backup_id": "b"}) == {"backup_id": "b"}


def test_what_is_given_is_the_default_of_the_params():
    dag = backup_dag("mine", roots=["/lake"], backup_root="/backups", schedule=None)
    assert (dag.params["roots"], dag.params["backup_root"], dag.schedule) == (["/lake"], "/backups", None)


@pytest.mark.parametrize(("weekday", "is_day"), [(5, True), ("5", True), (7, False), (None, False), ("None", False)])
def test_a_rehearsal_is_on_one_day(monkeypatch, weekday, is_day):
    run = SimpleNamespace(run_after=SimpleNamespace(isoweekday=lambda: 5))
    monkeypatch.setattr(backup, "get_current_context", lambda: {"dag_run": run})
    assert backup.is_rehearsal_day(weekday) is is_day


def test_what_could_not_be_read_fails():
    backup.nothing_was_left_out([])
    with pytest.raises(AirflowFailException, match="Could not be read:\n/a: no"):
        backup.nothing_was_left_out(["/a: no"])
