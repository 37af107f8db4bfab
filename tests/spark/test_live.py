"""A query that runs in its own process: backups of it are sound, changes of it are refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.storage.store import Store
from tests.spark.streaming_query import counts_of
from tests.spark_lab import STATE_CONFS, provider_conf

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]


class LiveQuery:
    """The process of tests/spark/streaming_query.py."""

    def __init__(self, checkpoint: Path, config: str) -> None:
        self.checkpoint = checkpoint
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.spark.streaming_query", str(checkpoint), config],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def wait_for(self, batch_id: int) -> None:
        waited = ckpt("wait", self.checkpoint, "--batch", batch_id, "--timeout", "600", "--poll-interval", "0.2")
        assert waited.returncode == 0, waited.stdout

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)


UNKNOWN = ("--accept-sink", "unknown")


def ckpt(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("ckpt")), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=800)


EXHAUSTIVE = bool(os.environ.get("CKPT_EXHAUSTIVE"))
CONFIGS = ["hdfs", "rocksdb", "rocksdb-changelog", "rocksdb-v2"] if EXHAUSTIVE else ["rocksdb-v2"]
BACKUPS = 50 if EXHAUSTIVE else 2  # of each configuration; 200 in all


@pytest.fixture(params=CONFIGS)
def live(request, tmp_path):
    query = LiveQuery(tmp_path / "checkpoint", request.param)
    query.config = request.param
    try:
        query.wait_for(6)
        yield query
    finally:
        query.kill()


def test_a_running_query_is_not_touched_and_can_be_backed_up(live, spark, tmp_path):
    refused = ckpt(
        "rollback",
        live.checkpoint,
        "--to-batch",
        newest_restorable(live),
        "--execute",
        "--i-know-it-is-stopped",
        *UNKNOWN,
    )
    assert refused.returncode == 4, refused.stderr
    assert "running" in refused.stderr or "changed since the plan" in refused.stderr
    assert not list(tmp_path.glob("_ckpt_undo/**/plan.json")), "nothing was even begun"

    store, root = Store.open(str(live.checkpoint)), Store.open(str(tmp_path / "backups"))
    taken = []
    for _ in range(BACKUPS):
        taken.append(take_backup(store, root))
        live.wait_for(taken[-1].batch_id + 1)
    assert taken[-1].batch_id > taken[0].batch_id, "the query went on meanwhile"
    live.kill()

    for number, backup in enumerate(taken):
        target = tmp_path / f"restored-{number}"
        assert ckpt("verify", root.location, backup.backup_id).returncode == 0
        done = ckpt("restore", root.location, backup.backup_id, "--to", target, "--execute", "--json", *UNKNOWN)
        assert json.loads(done.stdout)["receipt"]["status"] == "applied"
        assert_goes_on(spark, target, live.config, backup.batch_id)


def newest_restorable(live: LiveQuery) -> int:
    return observe(Store.open(str(live.checkpoint))).committed[-1]


def assert_goes_on(spark, checkpoint: Path, config: str, batch_id: int) -> None:
    """The restored query begins with the next batch, and its counts are those of all rows up to there."""
    session = spark.newSession()
    for key, value in STATE_CONFS[config].items():
        session.conf.set(key, provider_conf(value))
    seen = {}
    query = (
        counts_of(session)
        .writeStream.foreachBatch(lambda rows, batch: seen.update({batch: {row[0]: row[1] for row in rows.collect()}}))
        .outputMode("complete")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(600)
    assert list(seen) == [batch_id + 1]
    entry = observe(Store.open(str(checkpoint))).latest_offset_seq
    rows = json.loads(entry.offset("0").json)["offset"]
    assert seen[batch_id + 1] == Counter(number % 97 for number in range(rows))
