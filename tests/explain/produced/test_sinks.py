"""The log of a file sink: entries that are gone, batches that it drops, and compactions that take long."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.explain.produced.lab import forget, rows, sink, write

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]
YEAR_MS = 365 * 86_400_000


def of_files(files: int) -> list[tuple[str, str]]:
    """The rows of the files 0 to ``files`` - 1."""
    return sorted((f"o{n % 3 + one}", str(10 * n + one)) for n in range(files) for one in (0, 1))


#: What is deleted of the log of eight batches, or of twelve, and the exception that Spark stops with.
GONE = {
    "entry-gone": (8, ["4"], [10, 11], "SparkFileNotFoundException"),
    "log-deleted": (8, None, [10, 11], "SparkFileNotFoundException"),
    "compacted-entry-gone": (12, ["9.compact"], [20, 21], "SparkFileNotFoundException"),
    "compacted-entry-cut-off": (12, [], [20, 21], "JsonEOFException"),
}


@pytest.mark.parametrize("case", GONE)
@pytest.mark.parametrize("version", ["4.3", "3.5"])
def test_entries_of_the_sink_log_are_gone(sparks, ran, proof, tmp_path, case, version):
    """The query stops at its next compaction; the command of the gate writes them, and the next compactions read them."""
    files, names, more, error = GONE[case]
    spark, proof = sparks(version), proof(11, case)
    query = ran("files", files, version).copied(tmp_path / "q")
    log = Path(query.to[1]) / "_spark_metadata"
    if names is None:
        shutil.rmtree(log)
    elif names:
        forget(log, *names)
    else:
        write(log / "9.compact", (log / "9.compact").read_bytes()[:200])
    query.add(range(files, more[0]))
    if case == "compacted-entry-cut-off":
        ran = spark.run(query)
        assert ran.error is not None
        command = proof.confirms(query.checkpoint, "CKPT144", sink=sink(query))
    else:
        proof.stops(spark, query, error)
        command = proof.confirms(query.checkpoint, "CKPT142", sink=sink(query))
    assert command == f"ckpt repair {query.checkpoint} --sink {sink(query)}"
    assert proof.carries_out(command) == "exact"
    query.add(more)
    assert spark.run(query).error is None
    assert rows(spark, query) == of_files(more[-1] + 1)
    query.add(range(more[-1] + 1, more[-1] + 11))
    assert spark.run(query).error is None, "over the next compaction"
    assert rows(spark, query) == of_files(more[-1] + 11)
    if case != "compacted-entry-cut-off":
        proof.ends(rows="exact")


def test_the_newest_entries_of_the_sink_log_are_gone(spark, ran, proof, tmp_path):
    """Readers miss their rows without an error until the next compaction stops."""
    proof = proof(11, "newest-entries-gone")
    query = ran("files", 8).copied(tmp_path / "q")
    forget(Path(query.to[1]) / "_spark_metadata", "6", "7")
    assert rows(spark, query) == of_files(6)
    proof.explains(
        spark, "java.lang.IllegalStateException: /out/_spark_metadata/6 doesn't exist when compacting batch 9"
    )
    command = proof.confirms(query.checkpoint, "CKPT141", sink=sink(query))
    assert proof.carries_out(command) == "exact"
    assert rows(spark, query) == of_files(8)
    query.add(range(8, 12))
    assert spark.run(query).error is None
    assert rows(spark, query) == of_files(12)
    proof.ends(rows="exact")


def test_the_batches_are_written_again(spark, ran, proof, tmp_path):
    """Where nothing is proven, a rollback lets the query write the batches again: here the checkpoint is a copy."""
    proof = proof(11, "rolled-back")
    query = ran("files", 8).copied(tmp_path / "q")
    query.add([8, 9])
    forget(Path(query.to[1]) / "_spark_metadata", "4")
    for path in (query.checkpoint / "commits").iterdir():
        path.touch()
    proof.stops(spark, query, "SparkFileNotFoundException")
    code, told = proof.ckpt("repair", str(query.checkpoint), "--sink", sink(query), "--json")
    assert code == 4 and "the checkpoint was copied or restored" in json.dumps(told)
    effect = proof.carries_out(f"ckpt rollback {query.checkpoint} --to-batch 3 --sink {sink(query)} --trim-sink-log")
    assert effect == "exact"
    assert spark.run(query).error is None
    assert rows(spark, query) == of_files(10)
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
