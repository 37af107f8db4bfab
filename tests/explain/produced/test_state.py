"""State and the watermark: what Spark stops with, or does without a word, and what lets the query go on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.changes.salvage.damage import lose_rename
from tests.explain.produced.lab import ROCKSDB, Query, forget

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


def last(ran) -> list[tuple[str, ...]]:
    """The result of the newest batch, in complete mode."""
    return list(ran.batches[max(ran.batches)])


def clean(spark, query: Query, home: Path) -> list[tuple[str, ...]]:
    """The result of the same query over the same input, without any damage."""
    other = replace(query, home=home)
    (home / "orders").parent.mkdir(parents=True, exist_ok=True)
    (home / "orders").symlink_to(query.home / "orders")
    ran = spark.run(other)
    assert ran.error is None
    return last(ran)


@pytest.mark.parametrize("version", ["4.3", "3.5"])
def test_a_delta_of_the_state_is_gone(sparks, ran, proof, tmp_path, version):
    spark, proof = sparks(version), proof(7, "delta-file")
    query = ran("sum", 4, version).copied(tmp_path / "q")
    query.add([4])
    for path in (query.checkpoint / "state" / "0" / "0").iterdir():
        if path.name.startswith(("2.", ".2.", "3.", ".3.")):
            path.unlink()
    proof.stops(spark, query, "Py4JException")
    command = proof.confirms(query.checkpoint, "CKPT130").replace("--to-backup ROOT/ID", "--to-batch 0")
    proof.carries_out(command, ("unknown",), sink="foreachBatch")
    after = spark.run(query)
    assert after.error is None
    assert last(after) == clean(spark, query, tmp_path / "clean")
    proof.ends()


@pytest.mark.parametrize("version", ["4.3", "3.5"])
def test_the_rename_of_a_delta_was_lost(sparks, ran, proof, tmp_path, version):
    spark, proof = sparks(version), proof(7, "lost-rename")
    query = ran("sum", 4, version).copied(tmp_path / "q")
    query.add([4])
    lose_rename(query.checkpoint / "state" / "0" / "0" / "4.delta")
    for snapshot in (query.checkpoint / "state" / "0" / "0").glob("*.snapshot"):
        forget(snapshot.parent, snapshot.name)
    proof.stops(spark, query, "Py4JException")
    assert proof.carries_out(f"{proof.salvaging(query.checkpoint)} --sink foreachBatch") == "exact"
    after = spark.run(query)
    assert after.error is None
    assert last(after) == clean(spark, query, tmp_path / "clean")
    proof.ends()


@pytest.mark.parametrize("version", ["4.3", "3.5"])
@pytest.mark.parametrize("case", ["key", "value"])
def test_other_keys_or_aggregates(sparks, ran, proof, tmp_path, case, version):
    spark, proof = sparks(version), proof(8, case)
    query = ran("sum", 4, version).copied(tmp_path / "q")
    query.add([4])
    does = {"key": "sum by key and day", "value": "sum of text by key"}[case]
    error = {"key": "StateStoreKeySchemaNotCompatible", "value": "StateStoreValueSchemaNotCompatible"}[case]
    proof.stops(spark, replace(query, does=does), error if version == "4.3" else "Py4JException")
    after = spark.run(query)
    assert after.error is None, "with the keys that it had"
    assert last(after) == clean(spark, query, tmp_path / "clean")
    proof.ends("the earlier deploy", "exact")


def test_another_time_mode(spark, proof, tmp_path):
    proof = proof(9, "time-mode")
    query = Query(tmp_path / "q", does="count in None", mode="update", confs=ROCKSDB)
    query.add(range(3))
    first = spark.run(query)
    assert first.error is None, first.log[-3000:]
    query.add([3])
    proof.stops(spark, replace(query, does="count in ProcessingTime"), "StateStoreInvalidConfigAfterRestart")
    after = spark.run(query)
    assert after.error is None
    total = {row[0]: row[1] for batch in (*first.batches.values(), *after.batches.values()) for row in batch}
    assert total == {"o0": "2", "o1": "3", "o2": "2", "o3": "1"}
    proof.ends("the earlier deploy", "exact")


def test_another_number_of_shuffle_partitions(spark, proof, tmp_path):
    proof = proof(10, "shuffle-partitions")
    query = Query(tmp_path / "q", does="sum by key", mode="complete", confs=ROCKSDB)
    query.add(range(3))
    assert spark.run(query).error is None
    query.add([3])
    wanted = replace(query, confs={**ROCKSDB, "spark.sql.shuffle.partitions": "4"})
    ran = spark.run(wanted)
    assert ran.error is None
    assert len([path for path in (query.checkpoint / "state" / "0").iterdir() if path.name.isdigit()]) == 2
    proof.explains(spark, ran)
    command = proof.confirms(query.checkpoint, "CKPT201", conf="spark.sql.shuffle.partitions=4")
    assert proof.carries_out(command, sink="noop") == "exact"
    query.add([4])
    after = spark.run(wanted)
    assert after.error is None
    assert len([path for path in (query.checkpoint / "state" / "0").iterdir() if path.name.isdigit()]) == 4
    assert last(after) == clean(spark, wanted, tmp_path / "clean")
    proof.ends()


@pytest.mark.parametrize("version", ["4.3", "3.5"])
def test_an_idle_source_holds_the_watermark_back(sparks, proof, tmp_path, version):
    """Two sources; the second one gets nothing, and no window ends until it does."""
    spark, proof = sparks(version), proof(28, "idle-source")
    query = Query(tmp_path / "q", inputs=("orders", "payments"), does="windows of each")
    query.add(range(1))
    query.add(range(1), "payments")
    assert spark.run(query).error is None
    query.add(range(1, 6))
    stuck = spark.run(query)
    assert stuck.error is None and not stuck.rows
    proof.explains(spark, "watermark is stuck, no output is written in append mode")
    _, log = proof.ckpt("log", str(query.checkpoint), "--last", "4", "--json")
    assert len({batch["watermark_ms"] for batch in log["batches"]}) == 1
    query.add([6], "payments")
    assert not spark.run(query).rows, "in this run the other source has had no row"
    query.add([6, 7])
    query.add([7, 8], "payments")
    written = spark.run(query)
    assert written.error is None
    assert len(written.rows) == 18, "the windows of both sources that have ended"
    proof.ends("rows of all sources in one run", "exact")


def test_a_checkpoint_keeps_all_its_batches(spark, ran, proof, tmp_path):
    """Spark keeps 100 batches, with their state; the conf of the page lets the next batches remove the earlier ones."""
    proof = proof(22, "batches-kept")
    query = ran("sum").copied(tmp_path / "q")
    proof.explains(spark, "our checkpoint directory keeps growing, millions of small files in the checkpoint")

    def kept() -> list[int]:
        return sorted(int(path.name) for path in (query.checkpoint / "offsets").iterdir() if path.name.isdigit())

    query.add(range(4, 6))
    assert spark.run(query).error is None
    assert kept() == list(range(6)), "every batch since the first one"
    query.add(range(6, 9))
    # In the thread of the query, so that the last batch has removed what it can when the query has ended.
    fewer = {"spark.sql.streaming.minBatchesToRetain": "2", "spark.sql.streaming.asyncLogPurge.enabled": "false"}
    after = spark.run(replace(query, confs=fewer))
    assert after.error is None, after.log[-3000:]
    assert last(after) == clean(spark, query, tmp_path / "clean")
    assert kept()[-1] == 8 and len(kept()) <= 3
    proof.ends("`spark.sql.streaming.minBatchesToRetain=2`", "exact")
