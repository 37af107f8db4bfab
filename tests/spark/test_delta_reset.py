"""A query of real Spark over a real Delta table is moved, starts, and reads exactly from that version on.

Run by `make sinks`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.reset.make import make_reset
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.sources.delta.resolve_goal import DeltaAim
from airflow_provider_ckpt.sources.goal import Goal, ToVersion
from airflow_provider_ckpt.sources.kafka.strategies import ToDatetime, ToEarliest, ToLatest
from airflow_provider_ckpt.storage.store import Store
from tests.sinks.worker import Worker

#: Version 0 creates the table; version n adds n rows.
VERSIONS = 5


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    worker = Worker("lakes", tmp_path_factory.mktemp("lakes") / "warehouse")
    yield worker
    worker.stop()


def committed_ms(table: Path, version: int) -> int:
    """When a version was committed; the earlier of the times that its commit and its file have."""
    path = table / "_delta_log" / f"{version:020}.json"
    info = next(json.loads(line)["commitInfo"] for line in path.read_text().splitlines() if "commitInfo" in line)
    return min(int(info["timestamp"]), path.stat().st_mtime_ns // 1_000_000)


def test_the_first_batch_reads_from_that_version_on(worker, tmp_path):
    table, checkpoint = tmp_path / "table", tmp_path / "checkpoint"

    def add(rows: int) -> None:
        values = ", ".join(f"({number})" for number in range(rows))
        worker.sql(f"INSERT INTO delta.`{table}` VALUES {values}")

    def read() -> int:
        options = {"startingVersion": "0"}
        asked = {"source": "delta", "from": str(table), "checkpoint": str(checkpoint), "options": options}
        return sum(count for _, count in worker.ask(do="stream", **asked))

    def move(goal: Goal) -> None:
        stores = Stores(Store.open(str(checkpoint)))
        plan = make_reset(stores, "0", DeltaAim(Store.open(str(table)), goal), sink=parse_sink("noop"))
        apply(plan, stores, query_is_stopped=True, quiet_s=0)

    worker.sql(f"CREATE TABLE delta.`{table}` (n BIGINT) USING delta")
    for rows in range(1, VERSIONS):
        add(rows)
    assert read() == 1 + 2 + 3 + 4
    newest = observe(Store.open(str(checkpoint))).latest_committed
    for goal, rows in ((ToVersion(2), 3 + 4), (ToVersion(0), 1 + 2 + 3 + 4), (ToEarliest(), 10), (ToVersion(3), 4)):
        move(goal)
        assert read() == rows, goal
    for version in range(1, VERSIONS):
        move(ToDatetime(committed_ms(table, version)))
        assert read() == sum(range(version, VERSIONS)), version
    add(VERSIONS)
    move(ToLatest())
    assert read() == 0, "what came before is left out"
    add(6)
    assert read() == 6
    assert (observe(Store.open(str(checkpoint))).latest_committed or 0) > (newest or 0)
