"""What all else says of a query after it was moved: the gate, the lag, a wait, the exports, backups, a repartition."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.backup.catalog import list_backups
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.changes.repartition.make import make_repartition
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.restart.bookmark import take_bookmark
from airflow_provider_ckpt.restart.continuity import continuity
from airflow_provider_ckpt.sources.kafka.strategies import ShiftBy
from airflow_provider_ckpt.storage.store import Store
from tests.changes.reset.kafka_cases import FAILED, Case, rows_from
from tests.changes.reset.moved_query import MovedQuery
from tests.kafka_checkpoint import commit_batch
from tests.kafka_lab import run_query, session_of

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]
DO_IT = ["--sink", "kafka", "--accept-sink", "duplicated", "--execute", "--i-know-it-is-stopped", "--quiet-period", "0"]


@pytest.fixture
def place(kafka, tmp_path) -> tuple[str, str, str]:
    """A query that has read all of its topic, 10 records in two batches; its source; and the topic."""
    topic = kafka.create()
    kafka.produce(topic, 10)
    for batch_id, end in enumerate((6, 10)):
        commit_batch(tmp_path / "orders", batch_id, {topic: {0: end}})
    return str(tmp_path / "orders"), f"0=kafka:{kafka.bootstrap}", topic


@pytest.fixture
def ckpt(capsys) -> Any:
    """Runs a command; its exit code and its document."""

    def call(*arguments: str) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        code = run([*arguments, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return call


def test_everybody_goes_by_the_new_position(place, ckpt, tmp_path):
    location, source, topic = place
    caught_up = ("wait", location, "--caught-up", "--source", source, "--timeout", "0")
    gate = ("gate", location, "--source", f"{source}/{topic}", "--sink", "kafka", "--spark-version", "4.2")
    assert ckpt("lag", location, "--source", source)[1]["sources"][0]["total"] == 0
    assert ckpt(*caught_up)[0] == 0
    _, before = ckpt(*gate)

    assert ckpt("reset-offsets", location, "--source", source, "--shift-by", "-7", *DO_IT)[0] == 0
    assert ckpt("lag", location, "--source", source)[1]["sources"][0]["total"] == 7
    assert ckpt(*caught_up)[0] == 1
    _, after = ckpt(*gate)
    assert [item["code"] for item in after["findings"]] == [item["code"] for item in before["findings"]]
    assert (after["decision"], after["resumes_at_batch"]) == (before["decision"], before["resumes_at_batch"])
    assert ckpt("check", "--deep", location)[1]["findings"] == []
    new = {topic: {"0": 3}}
    assert json.loads(ckpt("export", location, "--as", "startingOffsets")[1]["text"]) == new
    assert (
        ckpt(
            "reset-offsets",
            location,
            "--source",
            source,
            "--shift-by",
            "2",
            *DO_IT[:2],
            "--accept-sink",
            "skipped",
            *DO_IT[4:],
        )[0]
        == 0
    )
    (first, second) = ckpt("history", location)[1]["changes"]
    assert (first["kind"], second["kind"], second["state"]) == ("reset", "reset", "applied")
    assert ckpt("lag", location, "--source", source)[1]["sources"][0]["total"] == 5
    assert ckpt("undo", location, "--execute", "--i-know-it-is-stopped", "--quiet-period", "0")[0] == 0
    assert ckpt("lag", location, "--source", source)[1]["sources"][0]["total"] == 7


def test_a_bookmark_of_before_the_reset_is_told_that_the_history_was_rewritten(place, ckpt):
    """As after a rollback: the task that compares them is there to find what nobody has told it."""
    location, source, topic = place
    bookmark = take_bookmark(observe(Store.open(location)))
    assert ckpt("reset-offsets", location, "--source", source, "--shift-by", "-7", *DO_IT)[0] == 0
    again = take_bookmark(observe(Store.open(location)))
    commit_batch(Path(location), 2, {topic: {0: 10}})
    found = continuity(bookmark, observe(Store.open(location)), {"0": "kafka"})
    assert {finding.code for finding in found.findings} >= {"CKPT302"}
    assert continuity(again, observe(Store.open(location)), {"0": "kafka"}).findings == ()


@pytest.mark.spark
@pytest.mark.exhaustive
def test_a_backup_of_it_starts_from_there(kafka, spark, place, ckpt, tmp_path):
    location, source, topic = place
    assert ckpt("reset-offsets", location, "--source", source, "--shift-by", "-7", *DO_IT)[0] == 0
    root, target = Store.open(str(tmp_path / "backups")), Store.open(str(tmp_path / "restored"))
    take_backup(Store.open(location), root, commit_wait_s=0)
    (backup,) = list_backups(root)
    restore(make_restore(root, backup, target), root, target, accept_sink="unknown duplicated")
    for checkpoint in (tmp_path / "restored", tmp_path / "orders"):
        assert run_query(session_of(spark), kafka, topic, checkpoint) == [(topic, 0, offset) for offset in range(3, 10)]


@pytest.mark.spark
@pytest.mark.exhaustive
def test_its_state_is_repartitioned(kafka, spark, tmp_path):
    """The batch of the repartition takes the offsets of the entry before it, which are those of the reset."""
    session = session_of(spark)
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    session.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    query = MovedQuery(session, kafka, Case(((6, 9),), 3, 0, 1, FAILED, ShiftBy(-4), stateful=True), tmp_path)
    query.prepare()
    query.reset()
    moved = query.positions()
    plan = make_repartition(query.stores, 4, sink=query.sink)
    apply(plan, query.stores, query_is_stopped=True, quiet_s=0)
    assert query.positions() == moved
    read = [(*row, 2 if row[2] < (6, 9)[row[1]] else 1) for row in rows_from(moved, query.extent())]
    assert query.run() == sorted(read)
