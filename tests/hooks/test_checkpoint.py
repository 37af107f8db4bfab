"""A location and a connection become a store; what cannot be one is refused in a sentence, and fails the task for good."""

from __future__ import annotations

import json

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from rich.text import Text

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook
from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointBackupOperator,
    CheckpointCheckOperator,
    CheckpointGateOperator,
)
from tests.operators.task import Task


@pytest.fixture
def connect(monkeypatch):
    def connection(**fields):
        monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps({"conn_type": "checkpoint", "host": "/data", **fields}))

    return connection


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"conn_type": "aws"}, "the connection lake is of type 'aws', not checkpoint"),
        (
            {"extra": {"storage_optoins": {}}},
            "the key 'storage_optoins', which means nothing; storage_options is meant",
        ),
        ({"extra": {"key": "AKIA"}}, "the key 'key', which means nothing"),
        ({"extra": {"storage_options": ["anon"]}}, "storage_options of the connection lake are not a JSON object"),
        ({"extra": {"storage_options": 5}}, "storage_options of the connection lake are not a JSON object"),
        ({"extra": {"storage_options": "{"}}, "storage_options of the connection lake are not JSON"),
        (
            {"host": "oss://lake", "extra": {"storage_conn_id": "my_oss"}},
            "has the storage_conn_id 'my_oss', but no provider of this Airflow opens oss:// locations",
        ),
    ],
)
def test_a_connection_that_says_what_nobody_reads_is_refused(connect, fields, said):
    connect(**fields)
    with pytest.raises(CheckpointError, match=said):
        CheckpointHook("lake").store("orders")


def test_a_relative_location_is_behind_the_base_location(connect):
    connect(extra={"storage_options": {}})
    assert CheckpointHook("lake").store("orders").location == "/data/orders"


@pytest.mark.parametrize("location", ["None", "", " ", "nan", "orders/None"])
def test_what_a_template_makes_of_nothing_is_no_location(connect, tmp_path, location):
    connect(host=str(tmp_path))
    backup = CheckpointBackupOperator(
        task_id="t", checkpoint=location, checkpoint_conn_id="lake", backup_root=str(tmp_path / "backups")
    )
    with pytest.raises(AirflowFailException, match="the location is"):
        backup.execute({"ti": Task()})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [CheckpointCheckOperator, CheckpointGateOperator])
def test_the_tasks_behind_one_that_has_failed_can_read_why(tmp_path, kind):
    task = Task()
    with pytest.raises(AirflowFailException):
        kind(task_id="t", checkpoint=str(tmp_path / "orders")).execute({"ti": task})
    assert task.pushed["error"]["error"]["code"] == "NOT_FOUND"


def test_what_is_to_be_installed_is_seen_where_brackets_are_markup(connect):
    connect(host="gs://lake")
    works, said = CheckpointHook("lake").test_connection()
    assert not works and Text.from_markup(said).plain == said and "spark-ckpt[ gcs]" in said
