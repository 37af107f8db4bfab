"""Locations that are given as the cluster spells them are opened as the query file says (``paths``)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_provider_ckpt.dags.fleet_rollback import located
from airflow_provider_ckpt.dags.validation import roots_of
from airflow_provider_ckpt.notifications.checkpoint import ExplainNotifier
from airflow_provider_ckpt.plugin.settings import read_settings
from airflow_provider_ckpt.query.declared import PLACED
from airflow_provider_ckpt.triggers.checkpoint import CheckpointProgressTrigger
from airflow_provider_ckpt.waiting import BatchCommitted
from tests.hooks.named_tasks import BESIDE, KINDS, events, task
from tests.kafka_checkpoint import commit_batch
from tests.operators.parameters import parameters

pytestmark = pytest.mark.airflow

#: What the cluster spells, by argument, and what is opened.
SPELLED: dict[str, tuple[Any, Any]] = {
    "checkpoint": ("dbfs:/lake/orders", "LAKE/orders"),
    "sink": ("file:dbfs:/lake/out", "file:LAKE/out"),
    "shadow_sink": ("file:/dbfs/lake/shadow", "file:LAKE/shadow"),
    "sinks": (["file:dbfs:/lake/out", "kafka"], ["file:LAKE/out", "kafka"]),
    "sources": ({"0": "file:dbfs:/lake/in", "1": "kafka"}, {"0": "file:LAKE/in", "1": "kafka"}),
    "source": ("0=delta:dbfs:/lake/in", "0=delta:LAKE/in"),
}


@pytest.fixture
def lake(tmp_path, monkeypatch):
    """A query file that says where the lake of the cluster is."""
    text = f"format_version: 1\npaths: {{'dbfs:/lake': '{tmp_path}'}}\nqueries:\n"
    (tmp_path / "ckpt.yaml").write_text(
        f"{text}  orders: {{checkpoint: 'dbfs:/lake/orders', sink: kafka, backups: b}}\n"
    )
    monkeypatch.setenv("AIRFLOW__CKPT__FILE", str(tmp_path / "ckpt.yaml"))
    return tmp_path


@pytest.mark.parametrize("name", KINDS)
def test_each_class_opens_what_it_is_given_and_a_second_try_as_well(name, lake):
    given = {key: SPELLED.get(key, ("dbfs:/lake/x", "LAKE/x")) for key in PLACED if key in parameters(KINDS[name])}
    if name == "CheckpointVerifyOperator":
        del given["checkpoint"]  # which is the root of the backups
    beside = {key: value for key, value in BESIDE.get(name, {}).items() if key not in given}
    made = KINDS[name](task_id="t", **beside, **{key: spelled for key, (spelled, _) in given.items()})
    for _ in range(2):
        try:
            made.declare()
        except Exception as error:
            assert "checkpoint_roots is in place of query" in str(error), error
            return
        for key, (_, opened) in given.items():
            assert getattr(made, key) == json.loads(json.dumps(opened).replace("LAKE", str(lake))), key


def test_what_a_template_has_made_a_text_is_opened(lake):
    made = task(
        "CheckpointRollbackOperator", query="orders", sources='{"0": "file:dbfs:/lake/a", "1": "file:dbfs:/lake/b"}'
    )
    made.declare()
    assert made.sources == {"0": f"file:{lake}/a", "1": f"file:{lake}/b"}
    same = '{"0": "file:/elsewhere"}'
    made = task("CheckpointRollbackOperator", query="orders", sources=same)
    made.declare()
    assert made.sources == same


def test_a_location_of_the_cluster_is_the_query_itself(lake):
    made = task("CheckpointBackupOperator", checkpoint="/dbfs/lake/orders")
    made.declare()
    assert (made.query_name, made.checkpoint) == ("orders", f"{lake}/orders")


def test_a_watcher_and_a_wait_poll_what_the_file_says(lake):
    commit_batch(lake / "orders", 0, '{"logOffset":-1}')
    assert CheckpointProgressTrigger(checkpoint="dbfs:/lake/orders")._asks_file
    waiting = CheckpointProgressTrigger(
        checkpoint="dbfs:/lake/orders",
        query_file=str(lake / "ckpt.yaml"),
        condition=BatchCommitted(0).to_dict(),
        deadline_ms=1,
    )
    (event,) = events(waiting)
    assert (event["status"], event["batch_id"]) == ("reached", 0)


def test_a_notifier_reads_it(lake):
    notifier = ExplainNotifier(checkpoint="dbfs:/lake/orders", sink="file:dbfs:/lake/out")
    alert = notifier.alert({})
    assert f"{lake}/orders" in alert.text and notifier.sink == f"file:{lake}/out"


def test_the_dags_of_many_queries_search_there(lake):
    params = {"roots": ["dbfs:/lake", "/elsewhere"], "queries": ["orders"]}
    assert roots_of(params) == [str(lake), "/elsewhere", f"{lake}/orders"]
    said = located(["orders", "/dbfs/lake/other", {"checkpoint": "dbfs:/lake/third", "sink": "file:dbfs:/lake/out"}])
    assert [query["checkpoint"] for query in said] == [f"{lake}/{name}" for name in ("orders", "other", "third")]
    assert said[2]["sink"] == f"file:{lake}/out"


def test_the_pages_show_it(lake):
    settings = read_settings()
    assert settings.opened("dbfs:/lake/orders") == str(lake / "orders")
    assert settings.roots.hold(settings.opened("/dbfs/lake/orders"))
