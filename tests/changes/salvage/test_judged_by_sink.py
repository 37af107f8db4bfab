"""A batch that runs again after a salvage meets a sink that has it: what becomes of the query then."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.salvage.make import make_salvage
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.storage.store import Store
from tests.changes.salvage.damage import cut, drop

KAFKA, UNDECLARED = Sink("kafka"), None


def table_of(path: Path, newest: int) -> Store:
    """A file sink that has the batches up to one, none of which has written a row."""
    log = path / "out/_spark_metadata"
    log.mkdir(parents=True)
    for batch in range(newest + 1):
        (log / str(batch)).write_text("v1")
    return Store.open(str(path / "out"))


def stores_of(path: Path, sink: Store | None = None) -> Stores:
    return Stores(Store.open(str(path)), sink=sink)


def stops_for_good(path: Path, sink: Store) -> bool:
    """Whether the gate says that the query of a checkpoint stops after the batch that it runs again."""
    found = forecast(examine(Store.open(str(path)), deep=True, sink=sink), DeploySpec()).findings
    return any(finding.severity == "error" and finding.code == "CKPT140" for finding in found)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("agg-hdfs", lambda path: drop(path / "state/0/0/8.delta")),
        ("agg-hdfs", lambda path: cut(path / "state/0/1/8.delta")),
        ("agg-rocksdb-changelog", lambda path: cut(path / "state/0/0/8.changelog")),
    ],
)
def test_a_query_stops_for_good_where_the_sink_skips_the_batch_whose_state_is_lost(golden, tmp_path, name, damage):
    path, sink = golden(name), table_of(tmp_path, 7)
    damage(path)
    stores = stores_of(path, sink)
    plan = make_salvage(stores)
    assert (plan.batch_id, plan.sink_effect) == (6, "stops")
    assert "the sink skips batch 7" in plan.effects[0].reason and "--trim-sink-log" in plan.effects[0].remedy
    with_trim = make_salvage(stores, trim_sink_log=True)
    assert with_trim.sink_effect == "exact"
    apply(with_trim, stores, query_is_stopped=True, quiet_s=0)
    assert not stops_for_good(path, sink)


def test_the_plan_says_what_the_gate_says_afterwards(golden, tmp_path):
    path, sink = golden("agg-hdfs"), table_of(tmp_path, 7)
    drop(path / "state/0/0/8.delta")
    stores = stores_of(path, sink)
    apply(make_salvage(stores), stores, query_is_stopped=True, quiet_s=0, accept_sink="stops")
    assert stops_for_good(path, sink)


def test_a_batch_whose_state_stays_is_skipped_without_harm(golden, tmp_path):
    """As after a crash between the write to the sink and the commit."""
    path, sink = golden("agg-hdfs"), table_of(tmp_path, 7)
    drop(path / "commits/7")
    cut(path / "commits/6")
    plan = make_salvage(stores_of(path, sink))
    assert plan.actions and any(note.startswith("Batch 7 runs again") for note in plan.notes)
    assert plan.sink_effect == "exact"


@pytest.mark.parametrize(
    ("sink", "effect", "why"),
    [
        (UNDECLARED, "unknown", "a sink that remembers batch ids drops the batches that run again"),
        (KAFKA, "exact", "batch 3 runs again with the rows that it had, and no other one"),
    ],
)
def test_nothing_is_known_of_a_batch_that_runs_again_into_a_sink_that_nobody_declared(golden, sink, effect, why):
    """The newest batch was never committed, and the commit before it is cut off."""
    path = golden("file-to-parquet-5")
    for name in ("commits/4", "offsets/4", "sources/0/4", "commits/3"):
        drop(path / name)
    cut(path / "commits/2")
    plan = make_salvage(stores_of(path), sink=sink)
    assert any(note.startswith("Batch 3 runs again") for note in plan.notes)
    assert (plan.sink_effect, why in plan.effects[0].reason) == (effect, True)


def test_a_checkpoint_that_needs_no_step_is_not_called_exact_where_its_query_stops(golden, tmp_path):
    """A batch in flight without its state, which the sink has already."""
    path, sink = golden("agg-hdfs"), table_of(tmp_path, 7)
    drop(path / "commits/7")
    for partition in (0, 1):
        drop(path / f"state/0/{partition}/8.delta")
    plan = make_salvage(stores_of(path, sink))
    assert (plan.actions, plan.sink_effect) == ((), "stops")
    assert "--trim-sink-log" in plan.effects[0].remedy
