"""The two logs of a checkpoint and the logs of its sources: what Spark stops with, and what lets it go on.

Each query writes to a file sink, so that the rows that readers get can be compared with those of a clean run.
"""

from __future__ import annotations

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.explain.produced.lab import Query, forget, rows, sink, write
from tests.kafka_lab import until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]
#: Rows of the files 0 to N-1: each has two.
ROWS = {
    files: sorted((f"o{n % 3 + one}", str(10 * n + one)) for n in range(files) for one in (0, 1)) for files in (4, 5, 6)
}


def again(proof, spark, query: Query, command: str, **filled: str) -> None:
    """Carry a rollback out with the sink; the query goes on, and every row is there once.

    The plan of the command as it is printed names the option that makes it exact for a file sink.
    """
    if "--to-batch" in command:
        _, plan = proof.ckpt(*command.replace("TYPE[:URI]", sink(query)).split()[1:], "--json")
        assert plan["sink_effect"] == "exact" or "--trim-sink-log" in json.dumps(plan), plan
        command += " --trim-sink-log"
    assert proof.carries_out(command, sink=sink(query), **filled) == "exact"
    assert spark.run(query).error is None
    assert rows(spark, query) == ROWS[5]
    proof.ends(rows="exact")


@pytest.mark.parametrize("version", ["4.3", "3.5"])
def test_another_number_of_sources(sparks, ran, proof, tmp_path, version):
    spark, proof = sparks(version), proof(1, "another-source")
    query = ran("files", 4, version).copied(tmp_path / "q")
    query.add([4])
    query.add([0], "payments")
    more = replace(query, inputs=("orders", "payments"))
    proof.stops(spark, more, "AssertionError")
    command = proof.confirms(query.checkpoint, "CKPT210", source_count="2")
    assert command == f"ckpt sources {query.checkpoint} --as 0=OLD --as 1=OLD", "a number does not say which is which"
    command = command.replace("0=OLD", "0=0").replace("1=OLD", "1=new")
    assert proof.carries_out(f"{command} --sink TYPE[:URI]", sink=sink(query)) == "exact"
    assert spark.run(more).error is None
    assert rows(spark, query) == sorted([*ROWS[5], ("p0", "0"), ("p1", "1")])
    proof.ends(rows="exact")


@pytest.mark.parametrize("version", ["4.3", "3.5"])
def test_another_number_of_sources_was_not_wanted(sparks, ran, tmp_path, version):
    spark = sparks(version)
    query = ran("files", 4, version).copied(tmp_path / "q")
    query.add([4])
    query.add([0], "payments")
    assert spark.run(replace(query, inputs=("orders", "payments"))).error == "AssertionError"
    assert spark.run(query).error is None, "with the sources that it had"
    assert rows(spark, query) == ROWS[5]


def test_names_for_sources(spark, ran, proof, tmp_path):
    proof = proof(2, "names")
    query = ran("files").copied(tmp_path / "q")
    query.add([4])
    switch = {"spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"}
    named = replace(query, inputs=("orders=orders",), confs=switch)
    proof.stops(spark, named, "AnalysisException")
    (key,) = switch
    command = proof.confirms(query.checkpoint, "CKPT213", conf=f"{key}=true")
    assert command == f"ckpt sources {query.checkpoint} --as NAME=0"
    command = command.replace("NAME", "orders")
    assert proof.carries_out(f"{command} --sink TYPE[:URI]", sink=sink(query)) == "exact"
    assert spark.run(named).error is None
    assert rows(spark, query) == ROWS[5]
    query.add([5])
    assert spark.run(named).error is None
    assert rows(spark, query) == ROWS[6]
    proof.ends(rows="exact")


def test_names_that_were_not_wanted(spark, ran, tmp_path):
    query = ran("files").copied(tmp_path / "q")
    query.add([4])
    switch = {"spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"}
    assert spark.run(replace(query, inputs=("orders=orders",), confs=switch)).error == "AnalysisException"
    assert spark.run(query).error is None
    assert rows(spark, query) == ROWS[5]


@pytest.mark.parametrize("version", ["4.3", "3.5"])
def test_the_entry_before_the_newest_is_gone(sparks, ran, proof, tmp_path, version):
    spark, proof = sparks(version), proof(4, "offset-log")
    query = ran("files", 4, version).copied(tmp_path / "q")
    query.add([4])
    forget(query.checkpoint / "offsets", 2)
    proof.stops(spark, query, "IllegalStateException")
    proof.confirms(query.checkpoint, "CKPT110")
    again(proof, spark, query, f"ckpt rollback {query.checkpoint} --to-batch 1 --sink TYPE[:URI]")


def test_the_entry_before_a_batch_in_flight_is_gone(spark, ran, proof, tmp_path):
    proof = proof(4, "in-flight")
    query = ran("files").copied(tmp_path / "q")
    query.add([4])
    forget(query.checkpoint / "offsets", 2)
    forget(query.checkpoint / "commits", 3)
    proof.stops(spark, query, "IllegalArgumentException")
    proof.confirms(query.checkpoint, "CKPT110")
    again(proof, spark, query, f"ckpt rollback {query.checkpoint} --to-batch 1 --sink TYPE[:URI]")


@pytest.mark.parametrize("version", ["4.3", "3.5"])
def test_the_log_of_a_source_ends_too_early(sparks, ran, proof, tmp_path, version):
    spark, proof = sparks(version), proof(4, "source-log")
    query = ran("files", 4, version).copied(tmp_path / "q")
    query.add([4])
    forget(query.checkpoint / "sources" / "0", 3)
    proof.stops(spark, query, "IllegalStateException")
    proof.confirms(query.checkpoint, "CKPT123")
    again(proof, spark, query, f"ckpt rollback {query.checkpoint} --to-batch 2 --sink TYPE[:URI]")


BROKEN = {
    "empty-offset": ("offsets", b"", "IllegalStateException", "CKPT101"),
    "cut-offset": ("offsets", b'v1\n{"batchW', "JsonEOFException", "CKPT102"),
    "empty-commit": ("commits", b"", "IllegalStateException", "CKPT101"),
}


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("version", ["4.3", "3.5"])
def test_an_entry_is_cut_off(sparks, ran, proof, tmp_path, case, version):
    log, data, error, code = BROKEN[case]
    spark, proof = sparks(version), proof(5, case)
    query = ran("files", 4, version).copied(tmp_path / "q")
    query.add([4])
    write(query.checkpoint / log / "3", data)
    proof.stops(spark, query, error)
    command = proof.confirms(query.checkpoint, code)
    again(proof, spark, query, command.replace("--to-backup ROOT/ID", "--to-batch 2"))


@pytest.mark.parametrize("version", ["4.3", "3.5"])
def test_a_commit_without_its_offsets(sparks, ran, proof, tmp_path, version):
    spark, proof = sparks(version), proof(6, "commit-ahead")
    query = ran("files", 4, version).copied(tmp_path / "q")
    query.add([4])
    forget(query.checkpoint / "offsets", 3)
    proof.stops(spark, query, "SparkException")
    again(proof, spark, query, proof.confirms(query.checkpoint, "CKPT112"))


@pytest.mark.parametrize(("log", "version"), [("offsets", "4.3"), ("commits", "4.3"), ("commits", "3.5")])
@pytest.mark.parametrize("removed", [True, False], ids=["removed", "left"])
def test_a_checksum_file_alone(sparks, ran, proof, tmp_path, log, version, removed):
    """The start that fails has written the entry: the next one goes on, also with the checksum file still there."""
    spark = sparks(version)
    proof = proof(6, "checksum-file" if log == "offsets" else "checksum-file-of-a-commit")
    query = ran("files", 4, version).copied(tmp_path / "q")
    left = query.checkpoint / log / ".4.crc"
    left.write_bytes(b"crc\0\0\0\2\0\0\0\0\0")
    proof.confirms(query.checkpoint, "CKPT120")
    query.add([4])
    proof.stops(spark, query, "FileAlreadyExistsException")
    proof.shows(query.checkpoint, "Hadoop writes")
    assert (query.checkpoint / log / "4").exists()
    assert rows(spark, query) == ROWS[5 if log == "commits" else 4], "a batch reaches the sink before its commit"
    if removed:
        left.unlink()
    assert spark.run(query).error is None
    assert rows(spark, query) == ROWS[5], "and no row is there twice"
    query.add([5])
    assert spark.run(query).error is None
    assert rows(spark, query) == ROWS[6]
    if removed:
        proof.ends("the file removed by hand", "exact")


@pytest.mark.parametrize("zombie", ["4.3", "3.5"])
def test_two_drivers(sparks, ran, proof, tmp_path, zombie):
    """An old driver is still within a batch when another one has been started and has run that batch as well."""
    other = sparks({"4.3": "3.5", "3.5": "4.3"}[zombie])
    spark, proof = sparks(zombie), proof(6, "two-drivers")
    query = ran("copy", 4, "3.5").copied(tmp_path / "q")
    query.add([4])
    released = tmp_path / "released"
    with ThreadPoolExecutor(1) as pool:
        old = pool.submit(spark.run, query, hold=released)
        until(lambda: old.done() or Path(f"{released}.reached").exists())
        second = other.run(query)
        released.touch()
        stopped = old.result()
    assert second.error is None, second.log[-3000:]
    assert stopped.error == "SparkException", stopped.log[-3000:]
    assert stopped.batches == second.batches == {4: [row for row in stopped.rows if row[1] in ("40", "41")]}
    proof.explains(spark, stopped)
    proof.shows(query.checkpoint, "Two queries run on one checkpoint")
    code, checked = proof.ckpt("check", str(query.checkpoint), "--deep", "--json")
    assert (code, checked["findings"]) == (0, []), "the driver that is left has written a whole checkpoint"
    query.add([5])
    assert [row[:2] for row in other.run(query).rows] == [("o2", "50"), ("o3", "51")]
    proof.ends("one driver ended", "duplicated: the batch that both ran")


@pytest.mark.parametrize("zombie", ["4.3", "3.5"])
def test_a_driver_that_nobody_can_reach(sparks, ran, proof, tmp_path, zombie):
    """An old driver goes on after the new one has stopped; the command that is printed stops it within one batch."""
    spark, old = sparks({"4.3": "3.5", "3.5": "4.3"}[zombie]), sparks(zombie)
    proof = proof(6, "driver-out-of-reach")
    query = ran("copy", 4, "3.5").copied(tmp_path / "q")
    query.add(range(4, 16))
    offsets, commits = query.checkpoint / "offsets", query.checkpoint / "commits"
    free = {name: tmp_path / name for name in ("old", "new")}

    def is_closed() -> bool:
        return any(path.read_bytes().startswith(b"v2147483647") for path in offsets.glob("[0-9]*"))

    with ThreadPoolExecutor(3) as pool:
        try:
            living = pool.submit(old.run, query, hold=free["old"])
            until(lambda: living.done() or Path(f"{free['old']}.reached").exists())
            starting = pool.submit(spark.run, query, hold=free["new"])
            until(lambda: starting.done() or Path(f"{free['new']}.reached").exists())
            free["old"].touch()
            until(lambda: living.done() or (commits / "4").exists())
            free["old"].unlink()  # it waits within one of its next batches
            free["new"].touch()
            stopped = starting.result()
            assert stopped.error == "SparkException", stopped.log[-3000:]
            proof.explains(spark, stopped)
            command = proof.prints(query.checkpoint, "Two queries run on one checkpoint")
            assert command == f"ckpt fence {query.checkpoint}"
            fencing = threading.Event()
            pool.submit(lambda: (until(lambda: fencing.is_set() or is_closed()), free["old"].touch()))
            code, done = proof.ckpt(*command.split()[1:], "--execute", "--json")
            fencing.set()
            assert (code, done.get("sink_effect")) == (0, "exact"), done
            ended = living.result()
        finally:
            for path in free.values():
                path.touch()
    assert ended.error in ("SparkException", "FileAlreadyExistsException"), ended.log[-3000:]
    assert max(ended.batches) < 15, "it had batches left"
    after = spark.run(query)
    assert after.error is None, after.log[-3000:]
    assert stopped.batches.keys() == {4}
    values = sorted(int(row[1]) for row in (*ended.rows, *after.rows))
    assert values == [10 * number + one for number in range(4, 16) for one in (0, 1)]
    proof.ends("`ckpt fence`", "duplicated: the batch that both ran before")


@pytest.mark.parametrize("version", ["4.3", "3.5"])
def test_a_directory_in_place_of_an_entry(sparks, ran, proof, tmp_path, version):
    spark, proof = sparks(version), proof(6, "directory")
    query = ran("files", 4, version).copied(tmp_path / "q")
    query.add([4])
    (query.checkpoint / "offsets" / "4").mkdir()
    proof.stops(spark, query, "SparkException")
    proof.confirms(query.checkpoint, "CKPT115")
    (query.checkpoint / "offsets" / "4").rmdir()
    assert spark.run(query).error is None
    assert rows(spark, query) == ROWS[5]
    proof.ends("the directory moved by hand", "exact")


def test_source_logs_deleted_by_age(spark, ran, proof, tmp_path):
    proof = proof(20, "source-log")
    query = ran("files").copied(tmp_path / "q")
    backup = _backup(proof, query, tmp_path / "backups")
    shutil.rmtree(query.checkpoint / "sources")
    query.add([4])
    proof.stops(spark, query, "IllegalStateException", symptom=4)
    proof.confirms(query.checkpoint, "CKPT123")
    again(
        proof, spark, query, f"ckpt rollback {query.checkpoint} --to-backup ROOT/ID --sink TYPE[:URI]", ROOT_ID=backup
    )


def test_a_copy_of_a_running_query(spark, ran, proof, tmp_path):
    """Its commits were copied after its offsets, and its state before."""
    proof = proof(21, "torn-copy")
    query = ran("windows", 5).copied(tmp_path / "q")
    whole = sorted(spark.table(Path(query.to[1])))
    forget(query.checkpoint / "offsets", max(int(path.name) for path in (query.checkpoint / "offsets").glob("[0-9]*")))
    proof.stops(spark, query, "SparkException", symptom=6)
    command = proof.confirms(query.checkpoint, "CKPT112")
    assert proof.carries_out(f"{command} --trim-sink-log", sink=sink(query)) == "exact"
    query.add([5])
    assert spark.run(query).error is None
    ended = [(key, "2026-01-01 00:04:00", "1") for key in ("o1", "o2")]
    assert sorted(spark.table(Path(query.to[1]))) == sorted([*whole, *ended])
    proof.ends()


def test_a_query_and_its_input_are_moved(spark, ran, proof, tmp_path):
    """The log of its source has the absolute paths of its input."""
    proof = proof(23, "moved")
    query = ran("files").copied(tmp_path / "q")
    _backup(proof, query, tmp_path / "backups")
    moved = tmp_path / "new"
    shutil.copytree(query.home, moved, ignore=shutil.ignore_patterns("checkpoint"))
    new = replace(query, home=moved)
    rewrite = f"file://{query.home}/orders=file://{moved}/orders"
    words = ["restore", str(tmp_path / "backups"), "latest", "--to", str(new.checkpoint), "--sink", sink(query)]
    code, done = proof.ckpt(*words, "--rewrite-paths", rewrite, "--execute", "--json")
    assert (code, done.get("sink_effect")) == (0, "exact"), done
    new.add([4])
    assert spark.run(new).error is None
    assert rows(spark, new) == ROWS[5]
    proof.explains(spark, "how to migrate the checkpoint to another bucket")
    proof.ends("`ckpt restore --rewrite-paths`", "exact")


def test_metadata_is_gone(spark, ran, proof, tmp_path):
    proof = proof(25, "metadata")
    query = ran("files").copied(tmp_path / "q")
    backup = _backup(proof, query, tmp_path / "backups")
    query.add([4])
    (query.checkpoint / "metadata").unlink()
    (query.checkpoint / ".metadata.crc").unlink(missing_ok=True)
    proof.stops(spark, query, "SparkRuntimeException")
    command = proof.confirms(query.checkpoint, "CKPT104")
    again(proof, spark, query, command, ROOT_ID=backup)


def test_an_earlier_spark(sparks, proof, tmp_path):
    """Spark 4.3 writes a log of version 2 for sources with names; Spark 3.5 reads version 1 alone."""
    proof = proof(27, "downgrade")
    names = {"spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"}
    query = Query(tmp_path / "q", inputs=("orders=orders",), to=("parquet", str(tmp_path / "q" / "out")), confs=names)
    query.add(range(4))
    assert sparks("4.3").run(query).error is None
    query.add([4])
    stopped = proof.stops(sparks("3.5"), replace(query, inputs=("orders",), confs={}), "IllegalStateException")
    assert "encountered v2" in stopped.log
    proof.confirms(query.checkpoint, "CKPT220", spark_version="3.5")
    assert sparks("4.3").run(query).error is None
    assert rows(sparks("4.3"), query) == ROWS[5]
    proof.ends("the later Spark", "exact")


def _backup(proof, query: Query, root: Path) -> str:
    """Take a backup; what `--to-backup` calls it."""
    code, told = proof.ckpt("backup", str(query.checkpoint), "--to", str(root), "--json")
    assert code == 0, told
    return f"{root}/{told['backup_id']}"


@pytest.mark.parametrize("version", ["4.3", "3.5"])
def test_a_salvage_goes_behind_the_hole_of_the_offset_log(sparks, ran, proof, tmp_path, version):
    spark, proof = sparks(version), proof(4, "salvaged")
    query = ran("files", 4, version).copied(tmp_path / "q")
    query.add([4])
    forget(query.checkpoint / "offsets", 2)
    proof.stops(spark, query, "IllegalStateException")
    effect = proof.carries_out(
        f"{proof.salvaging(query.checkpoint)} --sink TYPE[:URI] --trim-sink-log", sink=sink(query)
    )
    assert effect == "exact"
    assert spark.run(query).error is None
    assert rows(spark, query) == ROWS[5]
    proof.ends(rows="exact")


def test_a_torn_copy(spark, ran, proof, tmp_path):
    """Its state was copied before its logs, and the newest entry of its source is cut off."""
    proof = proof(21, "salvaged")
    query = ran("files").copied(tmp_path / "q")
    query.add([4])
    entry = query.checkpoint / "offsets" / "3"
    entry.write_bytes(entry.read_bytes()[:40])
    ran_again = spark.run(query)
    assert ran_again.error is not None
    proof.explains(spark, "the replicated checkpoint does not start")
    command = f"ckpt salvage {query.checkpoint} --sink TYPE[:URI] --trim-sink-log"
    assert proof.carries_out(command, sink=sink(query)) == "exact"
    assert spark.run(query).error is None
    assert rows(spark, query) == ROWS[5]
    proof.ends(rows="exact")
