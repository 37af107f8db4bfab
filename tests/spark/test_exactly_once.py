"""From a fleet that commits, rolls back and is purged, into a history: each commit once, whatever dies and when."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from airflow_provider_ckpt.cli import run as ckpt
from airflow_provider_ckpt.history_table.compact import compact
from airflow_provider_ckpt.history_table.manifest import GRACE_MS
from airflow_provider_ckpt.history_table.read import read_table
from airflow_provider_ckpt.history_table.vacuum import vacuum
from airflow_provider_ckpt.spark import register
from airflow_provider_ckpt.spark.read_back import history
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery
from tests.spark import history_faults, pipeline_faults
from tests.spark.pipeline_run import Pipeline
from tests.spark_lab import activate

SEED = 7
HOW = ("exit", "raise")
SAMPLE = ((("read-between", "exit"),), (("commit-create-after", "exit"),))


def faults():
    """Every step of both ends, as processes that die and as calls that fail: those that strike together."""
    for step in (*pipeline_faults.STEPS, *history_faults.STEPS):
        for how in HOW:
            if not step.startswith("abort"):
                yield ((step, how),)
            elif "delete" not in step:  # Spark aborts what was not committed
                yield ("commit-create-before", "raise"), (step, how)
            else:  # the files of a second attempt at an epoch that is committed
                yield (("commit-create-after", "exit"),)
                yield ("commit-read-after", "raise"), (step, how)


@pytest.fixture
def pipeline(spark, tmp_path):
    pipeline = Pipeline(tmp_path, SEED)
    pipeline.goes_on(12)
    return pipeline


def suffer(pipeline, session, groups):
    """One or two faults after the other, while the fleet goes on; what a run does not come to waits for a later one.

    Returns how many have struck, by where and how.
    """
    struck, waiting = Counter(), {}
    for group in groups:
        pipeline.goes_on(pipeline.chance.randint(1, 4))
        for step, how in group:
            history_faults.arm(pipeline.faults, step, how)
            waiting[step] = how
        pipeline.run(session)
        struck += come_true(pipeline, waiting)
    for left in waiting:
        (pipeline.faults / left).unlink()
    pipeline.goes_on(3)
    assert pipeline.run(session) is None
    return dict(struck)


def come_true(pipeline, waiting):
    """Those of the faults that have struck; they wait no longer."""
    done = waiting.keys() - history_faults.armed(pipeline.faults)
    return Counter(f"{step.partition('-')[0]} {waiting.pop(step)}" for step in done)


def clean_up(pipeline):
    """Merge, and vacuum two days later: what is left is what manifests name."""
    table = Store.open(str(pipeline.root / "table"))
    orphans = set(table.find("data")) - {file.name for file in read_table(table).files}
    now_ms = time.time_ns() // 1_000_000
    compact(table, now_ms, least_epochs=2, kept_epochs=0)
    vacuum(table, now_ms + 2 * GRACE_MS)
    assert set(table.find("data")) == {file.name for file in read_table(table).files}
    return orphans


def test_a_fleet_that_goes_on_is_read_once(pipeline, spark):
    assert sum(suffer(pipeline, spark, SAMPLE).values()) == len(SAMPLE)
    rows = pipeline.check(spark)
    clean_up(pipeline)
    assert pipeline.check(spark) == rows


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_a_fleet_on_s3(spark, s3_store, s3_server, tmp_path):
    """The fleet and the history on the S3 API; the sink dies, and its storage fails, at each of its calls there."""
    activate(spark)
    register(spark)
    spark.dataSource.register(history_faults.FaultyHistory)
    options = {"key": "test", "secret": "test", "endpoint_url": s3_server}
    storage = {f"storage.{key}": value for key, value in options.items()}
    queries = {name: FakeQuery(s3_store(f"fleet/{name}")) for name in ("orders", "clicks")}
    root, committed = s3_store("").location.rstrip("/"), Counter()
    steps = ("write-create-before", "write-create-after", "commit-create-before", "commit-create-after")
    for number, (step, how) in enumerate((step, how) for step in steps for how in HOW):
        for query in queries.values():
            for _ in range(1 + number % 3):
                batch_id = committed[query.store.location]
                query.files = {}
                query.commit(batch_id)
                committed[query.store.location] += 1
        history_faults.arm(tmp_path / "faults", step, how)
        for _ in range(2):
            reader = spark.readStream.format("checkpoint").options(**storage, depth="2").load(f"{root}/fleet")
            writer = reader.writeStream.format("faulty_history").options(**storage, faults=str(tmp_path / "faults"))
            writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
            with suppress(Exception):
                writer.start(f"{root}/table").awaitTermination(300)
    rows = history(spark, f"{root}/table", **options).select("location", "batch_id").collect()
    wanted = {(location, batch) for location, count in committed.items() for batch in range(count)}
    assert Counter(map(tuple, rows)) == Counter(wanted)
    assert history_faults.armed(tmp_path / "faults") == set()


@pytest.mark.exhaustive
@pytest.mark.timeout(7200)
def test_every_fault(pipeline, spark):
    struck = suffer(pipeline, spark, faults())
    rows = pipeline.check(spark)
    orphans = clean_up(pipeline)
    assert pipeline.check(spark) == rows
    print({"seed": SEED, "faults": struck, "rows": rows, "orphans": len(orphans), **pipeline.happened})
    assert sum(struck.values()) >= 60 and orphans and pipeline.happened["rolled back"] and pipeline.happened["purged"]


@pytest.mark.exhaustive
@pytest.mark.timeout(7200)
def test_kills_at_random(pipeline, spark):
    """SIGKILL of a driver with all that it has begun to do, or of one of the Python workers of this session's."""
    wanted, killed = {"driver": 6, "worker": 4}, Counter()
    for _ in range(60):  # some runs are over before their moment comes
        missing = [who for who in wanted if killed[who] < wanted[who]]
        if not missing:
            break
        pipeline.goes_on(6)
        who = pipeline.chance.choice(missing)
        killed[who] += kill_driver(pipeline) if who == "driver" else kill_worker(pipeline, spark)
    assert pipeline.run(spark) is None
    rows = pipeline.check(spark)
    orphans = clean_up(pipeline)
    assert pipeline.check(spark) == rows
    print({"seed": SEED, **killed, "rows": rows, "orphans": len(orphans)})
    assert killed == wanted


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("step", ["commit-find-after", "commit-create-after"])
def test_of_two_drivers_of_one_query_each_batch_is_there_once(pipeline, spark, step):
    """One is slow, and another one is started; the first goes on when that is done."""
    with driver_held_at(pipeline, step) as slow:
        pipeline.goes_on(6)
        assert pipeline.run(spark) is None
        history_faults.release(pipeline.faults, step)
        assert slow.wait(300) != 0  # Spark finds the batch in its commit log
    rows = pipeline.check(spark)
    clean_up(pipeline)
    assert pipeline.check(spark) == rows


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_a_driver_that_slept_through_a_rollback_writes_nothing(pipeline, spark):
    """It has written an epoch that is planned anew meanwhile, and wakes before that is committed."""
    assert pipeline.run(spark) is None
    pipeline.goes_on(4)
    checkpoint = pipeline.root / "checkpoint"
    last = newest(checkpoint / "commits")
    with driver_held_at(pipeline, "commit-start-after") as slow:
        assert newest(checkpoint / "offsets") == last + 1
        command = ["rollback", str(checkpoint), "--to-batch", str(last), "--execute", "--i-know-it-is-stopped"]
        assert ckpt([*command, "--sink", f"history:{pipeline.root}/table", "--accept-sink", "skipped"]) == 0
        assert newest(checkpoint / "offsets") == last
        pipeline.goes_on(4)
        history_faults.arm(pipeline.faults, "write-create-after", "hold")

        def wake(_):
            until(lambda: history_faults.is_held(pipeline.faults, "write-create-after"))
            history_faults.release(pipeline.faults, "commit-start-after")
            assert slow.wait(300) != 0
            assert "planned anew while its files were written" in (pipeline.root / "said").read_text()
            history_faults.release(pipeline.faults, "write-create-after")

        assert pipeline.run(spark, wake) is None
    pipeline.check(spark)


@contextmanager
def driver(pipeline):
    """The stream in a process of its own, which is killed in the end with all that it has started."""
    command = [sys.executable, "-m", "tests.spark.pipeline_run", str(pipeline.root)]
    with (pipeline.root / "said").open("wb") as said:
        running = subprocess.Popen(command, stderr=said, start_new_session=True)
    try:
        yield running
    finally:
        below = descendants(running.pid)
        for pid in (running.pid, *below):
            end(pid)
        running.wait()


@contextmanager
def driver_held_at(pipeline, step):
    """The same; it waits at a step until it is released."""
    history_faults.arm(pipeline.faults, step, "hold")
    with driver(pipeline) as running:
        until(lambda: history_faults.is_held(pipeline.faults, step) or running.poll() is not None)
        assert running.poll() is None, (pipeline.root / "said").read_text()[-3000:]
        yield running


def until(happens):
    """Wait until something is so."""
    at_latest = time.monotonic() + 300
    while not happens():
        assert time.monotonic() < at_latest
        time.sleep(0.05)


def kill_driver(pipeline):
    """Run the stream in a process of its own, and kill it. Returns whether it was still there."""
    with driver(pipeline) as running:
        wait_for_a_moment(pipeline, lambda: running.poll() is None)
        return running.poll() is None


def kill_worker(pipeline, session):
    """Run the stream here, and kill a worker of it. Returns whether there was one while it ran."""
    jvm = int(session._jvm.java.lang.ProcessHandle.current().pid())
    killed = []

    def kill(query):
        wait_for_a_moment(pipeline, lambda: query.isActive)
        victims = workers_of(jvm)
        if query.isActive and victims:
            killed.append(pipeline.chance.choice(victims))
            end(killed[0])

    pipeline.run(session, kill)
    return bool(killed)


def wait_for_a_moment(pipeline, goes_on):
    """Wait until a stream has left some traces of its next batch, and a little longer."""
    wanted = pipeline.traces() + pipeline.chance.randint(1, 4)
    while goes_on() and pipeline.traces() < wanted:
        time.sleep(0.05)
    time.sleep(pipeline.chance.random() * 0.3)


def newest(directory: Path) -> int:
    return max((int(path.name) for path in directory.glob("*") if path.name.isdecimal()), default=-1)


def descendants(pid: int) -> list[int]:
    """Processes that one has started, and theirs."""
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(status.parent.name))
    found, todo = [], [pid]
    while todo:
        own = children.get(todo.pop(), [])
        found += own
        todo += own
    return found


def workers_of(pid: int) -> list[int]:
    """The Python workers and daemons below a driver's JVM."""
    named = [child for child in descendants(pid) if b"pyspark" in command_of(child)]
    return [child for child in named if b"org.apache.spark" not in command_of(child)]


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
