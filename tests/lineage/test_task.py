"""What tasks tell others: when, and what they never do for it."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import Asset

from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook
from airflow_provider_ckpt.lineage.openlineage import FACET
from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointBackupOperator,
    CheckpointCheckOperator,
    CheckpointGateOperator,
    CheckpointPruneOperator,
    CheckpointResetOffsetsOperator,
    CheckpointRollbackOperator,
    CheckpointVerifyOperator,
)
from airflow_provider_ckpt.sensors.checkpoint import CheckpointProgressSensor
from tests.operators.each_change import fence, repair, salvage, seed, sources
from tests.operators.task import Task

pytestmark = pytest.mark.airflow


@pytest.fixture
def lake(golden, monkeypatch):
    """The directory of a checkpoint named ``checkpoint``, behind the connection ``lake``."""
    place = golden("agg-hdfs").parent
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps({"conn_type": "checkpoint", "host": str(place)}))
    return place


@pytest.fixture
def nobody_asked(monkeypatch):
    """Whoever asks for a connection fails the test."""

    def asked(self: Any) -> Any:
        raise AssertionError("a connection was asked for")

    monkeypatch.setattr(CheckpointHook, "get_conn", asked)


def context(*assets: Asset) -> dict[str, Any]:
    """The context of a task with outlets."""
    return {"ti": Task(), "outlet_events": {asset: SimpleNamespace(extra={}) for asset in assets}}


def named(lineage: Any, side: str) -> list[tuple[str, ...]]:
    """Name, type and change of each dataset."""
    shown = []
    for dataset in getattr(lineage, side):
        change = dataset.facets.get("lifecycleStateChange")
        shown.append(
            (dataset.name, dataset.facets["datasetType"].datasetType, change and change.lifecycleStateChange.value)
        )
    return shown


RELATIVE = {"checkpoint": "checkpoint", "checkpoint_conn_id": "lake"}


def test_both_starts_of_a_task_say_the_same_and_ask_nothing(lake, nobody_asked):
    def made(**place: Any) -> Any:
        return CheckpointProgressSensor(task_id="t", batch_id=1, deferrable=True, **place)

    for place in (RELATIVE, {"checkpoint": str(lake / "checkpoint")}):
        first, second = made(**place), made(**place)
        assert first.get_openlineage_facets_on_start() == second.get_openlineage_facets_on_start()
    assert named(first.get_openlineage_facets_on_start(), "inputs") == [(str(lake / "checkpoint"), "CHECKPOINT", None)]
    assert made(**RELATIVE).get_openlineage_facets_on_start().inputs == [], "not known before the connection is asked"


def test_a_backup_reads_the_checkpoint_and_makes_the_backup(lake):
    task = CheckpointBackupOperator(task_id="t", backup_root="backups", **RELATIVE)
    taken = task.execute(context())
    lineage = task.get_openlineage_facets_on_complete(None)
    assert named(lineage, "inputs") == [(str(lake / "checkpoint"), "CHECKPOINT", None)]
    assert named(lineage, "outputs") == [(str(lake / "backups"), "BACKUP", "ALTER")]
    assert lineage.outputs[0].facets["version"].datasetVersion == taken["backup_id"]
    assert lineage.inputs[0].facets["version"].datasetVersion == str(taken["batch_id"])


def test_a_backup_is_verified_and_pruned(lake):
    CheckpointBackupOperator(task_id="t", backup_root="backups", **RELATIVE).execute(context())
    verify = CheckpointVerifyOperator(task_id="t", backup_root="backups", checkpoint_conn_id="lake")
    assert verify.linked_checkpoints() == [], "not known before the manifest was read"
    verify.execute(context())
    assert verify.linked_checkpoints() == [str(lake / "checkpoint")]
    assert named(verify.get_openlineage_facets_on_complete(None), "inputs") == [(str(lake / "backups"), "BACKUP", None)]
    prune = CheckpointPruneOperator(task_id="t", backup_root="backups", checkpoint_conn_id="lake", keep_last=1)
    prune.execute(context())
    assert named(prune.get_openlineage_facets_on_complete(None), "outputs") == [
        (str(lake / "backups"), "BACKUP", "ALTER")
    ]


@pytest.mark.parametrize("plan_only", [True, False])
def test_a_rollback_alters_the_checkpoint_and_a_plan_reads_it(lake, plan_only):
    task = CheckpointRollbackOperator(
        task_id="t",
        to_batch=4,
        query_is_stopped=True,
        accept_sink="unknown",
        quiet_period=0,
        plan_only=plan_only,
        **RELATIVE,
    )
    task.execute(context())
    lineage = task.get_openlineage_facets_on_complete(None)
    reads, alters = [(str(lake / "checkpoint"), "CHECKPOINT", change) for change in (None, "ALTER")]
    assert named(lineage, "inputs") == ([reads] if plan_only else [])
    assert named(lineage, "outputs") == ([] if plan_only else [alters])
    assert bool(lineage.run_facets[FACET].receipt) != plan_only and lineage.run_facets[FACET].plan["batch_id"] == 4


CHANGED = {
    "fence": (fence, [], ["orders"]),
    "sources": (sources, [], ["orders"]),
    "salvage": (salvage, [], ["orders"]),
    "repair": (repair, [], ["orders", "out"]),
    "seed": (seed, ["live/orders"], ["orders"]),
}


@pytest.mark.parametrize(("change", "reads", "alters"), CHANGED.values(), ids=CHANGED)
def test_each_change_names_what_it_reads_and_what_it_changes(tmp_path, change, reads, alters):
    change.before(tmp_path, tmp_path)
    task = change.kind(task_id="t", **change.arguments(str(tmp_path)))
    asked = task.get_openlineage_facets_on_start()
    assert [item.name for item in asked.inputs] == [str(tmp_path / name) for name in reads]
    task.execute(context())
    told = task.get_openlineage_facets_on_complete(None)
    how = "CREATE" if change is seed else "ALTER"
    assert [(name, does) for name, _, does in named(told, "outputs")] == [
        (str(tmp_path / name), how) for name in alters
    ]
    assert told.run_facets[FACET].receipt["status"] == "applied"
    assert task.linked_checkpoints() == [str(tmp_path / "orders")]


def test_a_refused_change_says_its_plan_and_alters_nothing(lake):
    task = CheckpointRollbackOperator(task_id="t", to_batch=4, query_is_stopped=True, quiet_period=0, **RELATIVE)
    with pytest.raises(AirflowFailException):
        task.execute(context())
    lineage = task.get_openlineage_facets_on_failure(None)
    assert named(lineage, "outputs") == [(str(lake / "checkpoint"), "CHECKPOINT", None)]
    assert lineage.run_facets[FACET].plan["sink_effect"] == "unknown" and lineage.run_facets[FACET].receipt is None


def test_a_task_that_fails_says_what_it_has_found(lake):
    (lake / "checkpoint/offsets/7").write_text("nonsense")
    check = CheckpointCheckOperator(task_id="t", **RELATIVE)
    gate = CheckpointGateOperator(task_id="t", **RELATIVE)
    for task in (check, gate):
        with pytest.raises(AirflowFailException):
            task.execute(context())
        facet = task.get_openlineage_facets_on_failure(None).run_facets[FACET]
        assert facet.findings[0]["name"] == "offsets/7"
    assert facet.decision == "block"


def test_a_reset_names_the_topics_that_it_moves(nobody_asked):
    task = CheckpointResetOffsetsOperator(
        task_id="t", checkpoint="/o", source="0=kafka:host:9092", topics=["orders:0,1"], to_latest=True
    )
    assert named(task.get_openlineage_facets_on_start(), "inputs") == [("orders", "TOPIC", None)]
    nonsense = CheckpointResetOffsetsOperator(task_id="t", checkpoint="/o", source="nonsense", to_latest=True)
    assert nonsense.get_openlineage_facets_on_start().inputs == []


def test_what_a_rendered_text_declares_is_read_and_nonsense_is_not(nobody_asked):
    texts = {"{'0': 'file:/in'}": ["/in"], "{": [], "kafka": []}
    for text, expected in texts.items():
        task = CheckpointGateOperator(task_id="t", checkpoint="/o", sources=text, sink="delta:/out")
        names = [dataset.name for dataset in task.get_openlineage_facets_on_start().inputs]
        assert names == ["/o", *expected, "/out"]


def test_the_event_of_an_asset_says_what_was_done_unless_the_dag_says_more(lake):
    ours, theirs = Asset("ours"), Asset("theirs")
    task = CheckpointBackupOperator(task_id="t", backup_root="backups", outlets=[ours, theirs], **RELATIVE)
    given = context(ours, theirs)
    given["outlet_events"][theirs].extra = {"by": "us"}
    task.execute(given)
    extra = given["outlet_events"][ours].extra
    assert extra["text"].startswith(f"A backup was taken of {lake / 'checkpoint'} at batch 7, with the watermark 2026-")
    assert extra["backup_id"] and extra["link"].startswith("plugin/checkpoints?at=")
    assert given["outlet_events"][theirs].extra == {"by": "us"}


def test_a_connection_that_is_missing_leaves_no_link_and_no_error():
    task = CheckpointCheckOperator(task_id="t", checkpoint="o", checkpoint_conn_id="no_such_connection")
    assert task.linked_checkpoints() == []
    assert task.get_openlineage_facets_on_failure(None).inputs == []


@pytest.mark.parametrize("many", [False, True], ids=["one", "a list"])
def test_the_log_of_a_missing_connection_has_no_secrets_of_a_url(monkeypatch, many):
    said: list[str] = []
    log = SimpleNamespace(warning=lambda text, *values: said.append(text % values))
    monkeypatch.setattr(CheckpointHook, "log", log)
    location = "s3://key:s3cret@lake/orders?token=abc\n"
    given = [location, location] if many else location
    task = CheckpointCheckOperator(task_id="t", checkpoint=given, checkpoint_conn_id="no_such_connection")
    assert task.linked_checkpoints() == []
    (text,) = said
    assert text.startswith("There is no link to ") and "key@lake/orders?token=***" in text
    assert "s3cret" not in text and "abc" not in text and "\n" not in text
