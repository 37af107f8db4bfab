"""The log of a file sink: entries that are gone, batches that it drops, and compactions that take long."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.symptoms.produced.lab import forget, rows, sink

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]
YEAR_MS = 365 * 86_400_000


@pytest.mark.parametrize("version", ["4.3", "3.5"])
def test_an_entry_of_the_sink_log_is_gone(sparks, ran, proof, tmp_path, version):
    spark, proof = sparks(version), proof(11, "entry-gone")
    query = ran("files", 8, version).copied(tmp_path / "q")
    whole = rows(spark, query)
    query.add([8, 9])
    forget(Path(query.to[1]) / "_spark_metadata", 4)
    proof.stops(spark, query, "SparkFileNotFoundException")
    proof.confirms(query.checkpoint, "CKPT142", sink=sink(query))
    effect = proof.carries_out(f"ckpt rollback {query.checkpoint} --to-batch 3 --sink {sink(query)} --trim-sink-log")
    assert effect == "exact"
    assert spark.run(query).error is None
    assert len(whole) == 16
    assert rows(spark, query) == sorted([*whole, ("o2", "80"), ("o3", "81"), ("o0", "90"), ("o1", "91")])
    proof.ends()


@pytest.mark.parametrize("version", ["4.3", "3.5"])
def test_a_new_checkpoint_over_an_old_directory(sparks, ran, proof, tmp_path, version):
    """The sink drops the batches 0 to 3 of the new checkpoint, without an error."""
    spark, proof = sparks(version), proof(12, "old-directory")
    query = ran("files", 4, version).copied(tmp_path / "q")
    anew = tmp_path / "anew"
    query.add([4], "other")
    another = replace(query, inputs=("other",))
    before = rows(spark, query)
    assert spark.run(another, anew).error is None
    assert rows(spark, query) == before, "its rows are lost"
    proof.explains(spark, "Skipping already committed batch 0")
    proof.confirms(anew, "CKPT140", sink=sink(query))
    elsewhere = replace(another, to=("parquet", str(tmp_path / "out")))
    assert spark.run(elsewhere, tmp_path / "elsewhere").error is None
    assert rows(spark, elsewhere) == [("o1", "40"), ("o2", "41")]
    proof.ends("another output directory; `ckpt seed` for Kafka and tables", "exact")


def test_the_tenth_batch_takes_long(spark, ran, proof, tmp_path):
    """A log with as many entries as a sink has after years; the option `retention` makes it short again."""
    proof = proof(13, "compaction")
    query = ran("files", 8).copied(tmp_path / "q")
    log = Path(query.to[1]) / "_spark_metadata"
    entry = json.loads((log / "0").read_text().splitlines()[1])
    old = {**entry, "modificationTime": entry["modificationTime"] - YEAR_MS}
    more = (json.dumps({**old, "path": f"{entry['path']}-{number}"}) for number in range(300_000))
    (log / "0").write_text("\n".join(["v1", json.dumps(entry), *more]))
    (log / ".0.crc").unlink(missing_ok=True)
    query.add([8, 9])
    ran_slowly = spark.run(query)
    assert ran_slowly.error is None
    proof.explains(spark, ran_slowly)
    assert (log / "9.compact").stat().st_size > 25_000_000
    query.add(range(10, 20))
    assert spark.run(replace(query, options={"retention": "30d"})).error is None
    assert (log / "19.compact").stat().st_size < 100_000
    assert rows(spark, query) == sorted((f"o{n % 3 + one}", str(10 * n + one)) for n in range(20) for one in (0, 1))
    proof.ends("the option `retention` of the sink", "exact: all that is younger than the retention")
