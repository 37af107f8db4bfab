"""The checkpoints of tasks, out of Airflow's database."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.plugin.read_task import read_tasks
from tests.plugin.runs import add_run


@pytest.fixture(scope="module", autouse=True)
def runs(airflow_tables):
    add_run("streams", "monday", {("gate", -1): {"checkpoint": "/old"}, ("later", -1): None})
    add_run(
        "streams",
        "tuesday",
        {
            ("gate", -1): {"checkpoint": "s3://lake/orders", "checkpoint_conn_id": None},
            ("backup", 0): {"checkpoint": "a", "checkpoint_conn_id": "base"},
            ("backup", 1): {"checkpoint": "s3://other/b", "checkpoint_conn_id": "base"},
            ("hello", -1): {"bash_command": "true"},
            ("odd", -1): {"checkpoint": ["a"]},
            ("lost", -1): {"checkpoint": "a", "checkpoint_conn_id": "missing"},
        },
    )


@pytest.fixture(autouse=True)
def connection(monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_BASE", json.dumps({"conn_type": "checkpoint", "host": "s3://lake/base"}))


def locations(*asked: object) -> dict[tuple[str, int], str | None]:
    found = read_tasks(*asked)
    return {(task.task_id, task.map_index): task.location for task in found.tasks}


def test_a_task_instance_has_the_location_that_it_was_given():
    assert locations("streams", "tuesday", "gate", -1) == {("gate", -1): "s3://lake/orders"}
    assert locations("streams", "monday", "gate", -1) == {("gate", -1): "/old"}


def test_each_mapped_task_instance_has_its_own_and_a_relative_one_is_below_its_connection():
    assert locations("streams", "tuesday", "backup", 0) == {("backup", 0): "s3://lake/base/a"}
    assert locations("streams", "tuesday", "backup", None) == {
        ("backup", 0): "s3://lake/base/a",
        ("backup", 1): "s3://other/b",
    }


def test_a_run_has_those_of_all_its_tasks():
    assert len(locations("streams", "tuesday", None, None)) == 6


def test_without_a_run_the_newest_counts_that_has_the_task():
    assert read_tasks("streams", None, "gate", None).run_id == "tuesday"
    assert read_tasks("streams", None, "later", None).run_id == "monday"


@pytest.mark.parametrize("task_id", ["hello", "odd"])
def test_a_task_without_a_checkpoint_has_none(task_id):
    (task,) = read_tasks("streams", "tuesday", task_id, -1).tasks
    assert (task.location, task.problem) == (None, None)


@pytest.mark.parametrize(
    ("run_id", "task_id", "why"),
    [("monday", "later", "Airflow has no rendered fields"), ("tuesday", "lost", "The connection missing of this task")],
)
def test_a_location_that_is_not_known_has_a_reason(run_id, task_id, why):
    (task,) = read_tasks("streams", run_id, task_id, -1).tasks
    assert task.location is None and why in task.problem


@pytest.mark.parametrize(
    "asked",
    [
        ("streams", "tuesday", "gate", 0),
        ("streams", "tuesday", "nothing", -1),
        ("streams", "wednesday", None, None),
        ("nothing", None, "gate", None),
        ("stream%", "tuesday", "gate", -1),
    ],
)
def test_what_is_not_there_is_none(asked):
    assert read_tasks(*asked) is None
