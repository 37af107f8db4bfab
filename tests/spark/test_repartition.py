"""Real queries whose state real Spark repartitions: right after every restart, and killed at any moment.

``make test`` takes one query of state checkpoint format 2 from 2 to 5 partitions. ``CKPT_SEED`` is the seed of the moments
of the kills; the one that is used is printed.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.repartition.make import make_repartition
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.storage.store import Store
from tests.spark.operators import OPERATORS, Bench
from tests.spark_lab import Lab, settle, truth

pytestmark = pytest.mark.spark

SEED = os.environ.get("CKPT_SEED", "42")
#: State checkpoint format 1 with and without changelogs, and 2.
CONFIGS = ["rocksdb", "rocksdb-changelog", "rocksdb-v2"]
KILLS = 10
FIRST = 3
#: A JVM that lives for seconds does not pay for the second compiler.
SHORT_LIFE = "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@pytest.fixture(scope="module")
def ran(spark, tmp_path_factory) -> Callable[[str, Path], Lab]:
    """A query that has run its first batches with two partitions, copied below a directory."""
    labs: dict[str, Lab] = {}

    def copied(config: str, root: Path) -> Lab:
        if config not in labs:
            lab = labs[config] = Lab(spark, tmp_path_factory.mktemp(config), config)
            lab.write(range(FIRST))
            lab.run()
            settle(lab.checkpoint)
        return labs[config].copied(root)

    return copied


def command(lab: Lab, name: str, *arguments: object) -> list[str]:
    options = ["--sink", "foreachBatch", "--execute", "--i-know-it-is-stopped", "--quiet-period", "0", "--json"]
    ckpt = str(Path(sys.executable).with_name("ckpt"))
    return [ckpt, name, str(lab.checkpoint), *map(str, arguments), *options]


def to(number: int) -> tuple[object, ...]:
    """The arguments of a repartition."""
    return ("repartition", "--partitions", number, "--conf", SHORT_LIFE)


def done(lab: Lab, name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(lab, name, *arguments), capture_output=True, text=True, timeout=800, check=False)


def partitions(lab: Lab) -> int:
    newest = max((path for path in (lab.checkpoint / "offsets").glob("[0-9]*")), key=lambda path: int(path.name))
    (number,) = re.findall(r'"spark.sql.shuffle.partitions":"(\d+)"', newest.read_text())
    return int(number)


def assert_goes_on_right(lab: Lab, files: int, what: str) -> None:
    """A restart with one more file of input gives what the whole input gives."""
    assert [item for item in inspect(Store.open(str(lab.checkpoint)), deep=True) if item.severity == "error"] == [], (
        what
    )
    lab.write([files - 1])
    assert lab.run().result == truth(dict.fromkeys(range(files), "A")), what
    settle(lab.checkpoint)


def assert_repartitioned(lab: Lab, number: int, files: int) -> None:
    """It is done, and the restart right after it gives the right result with that number."""
    made = done(lab, *to(number))
    assert made.returncode == 0, made.stderr
    assert partitions(lab) == number
    assert_goes_on_right(lab, files, f"after {number} partitions")
    assert partitions(lab) == number


def test_from_two_to_five_partitions(ran, tmp_path):
    assert_repartitioned(ran("rocksdb-v2", tmp_path), 5, FIRST + 1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("config", CONFIGS)
def test_from_two_to_five_to_three_to_one(ran, tmp_path, config):
    """On the way to five it is killed, which the same command completes; the last one is undone after a batch more."""
    lab = ran(config, tmp_path)
    killed = kill_at(lab, random.Random(f"{SEED} {config}"), "state", "jvm")
    assert killed.returncode == 5, killed.stderr
    assert json.loads(killed.stdout)["error"]["code"] == "SPARK_FAILED"
    for files, number in enumerate((5, 3, 1), FIRST + 1):
        assert_repartitioned(lab, number, files)
    undone = done(lab, "undo", "--accept-sink", "unknown")
    assert undone.returncode == 0, undone.stderr
    assert partitions(lab) == 3
    assert_goes_on_right(lab, FIRST + 4, "after the last of them was undone")


@pytest.mark.exhaustive
@pytest.mark.parametrize("config", ["rocksdb", "rocksdb-v2"])
def test_killed_at_any_moment_it_is_completed_or_taken_back(ran, tmp_path, config):
    rng = random.Random(f"{SEED} {config}")
    print(f"CKPT_SEED={SEED}")
    told = []
    for number in range(KILLS):
        moment, target = MOMENTS[number % len(MOMENTS)], rng.choice(TARGETS)
        way = ("repartition", "undo")[number % 2]  # so each moment is met with both
        what = f"kill {number}: {target} at {moment}, then {way}"
        lab = ran(config, tmp_path / str(number))
        killed = kill_at(lab, rng, moment, target)
        told.append(f"{what}: exit code {killed.returncode}, {partitions(lab)} partitions planned")
        print(told[-1], flush=True)
        after = done(lab, *(to(5) if way == "repartition" else ("undo",)))
        if way == "undo" and after.returncode == 4:
            assert "no change that can be undone" in after.stderr, f"{what}: {after.stderr}"
        else:
            assert after.returncode == 0 or "has 5 partitions already" in after.stderr, f"{what}: {after.stderr}"
        assert partitions(lab) == (5 if way == "repartition" else 2), what
        assert_goes_on_right(lab, FIRST + 1, what)


@pytest.mark.exhaustive
@pytest.mark.parametrize("moment", ["begun", "asked", "planned", "state"])
@pytest.mark.parametrize("config", ["rocksdb", "rocksdb-v2"])
def test_a_query_started_during_it_does_no_harm(ran, tmp_path, config, moment):
    """Whoever is second is refused; what the one or the other has left is gone on from."""
    from pyspark.errors import StreamingQueryException

    lab = ran(config, tmp_path)
    process = begin(lab)
    wait_for(process, lab, moment)
    lab.write([FIRST])
    refused = ""
    try:
        lab.run()
    except StreamingQueryException as error:
        refused = str(error)
    _, stderr = process.communicate(timeout=800)
    print(
        f"{config} at {moment}: the command ended with {process.returncode} {stderr[-600:]} and the query {refused[:300]}"
    )
    if process.returncode == 0:
        assert "STREAMING_UNFINISHED_REPARTITION_DETECTED" in refused or "CONCURRENT_STREAM_LOG_UPDATE" in refused
        assert partitions(lab) == 5
    else:
        assert process.returncode == 4 and "a query" in stderr, stderr
        assert (refused, partitions(lab)) == ("", 2)
    assert_goes_on_right(lab, FIRST + 2, f"started when it was {moment}")


#: What is refused, by operator, and why; all others go on right.
REFUSED = {
    "count of everything": "has no grouping keys",
    "limit": "does not repartition the state",
    "count by window, then limit": "does not repartition the state",
    "left outer join, state format 4": "has state format 4",
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("store", ["rocksdb", "rocksdb-v2"])
@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_goes_on_right_or_is_refused(spark, tmp_path, name, store):
    """Against the same query that was never repartitioned."""
    operator = OPERATORS[name]
    if store not in operator.stores:
        return
    benches = [Bench(spark, tmp_path / which, operator, store) for which in ("repartitioned", "as it was")]
    for bench in benches:
        bench.write(range(3))
        bench.run(bench.checkpoint)
    ours = benches[0].checkpoint
    settle(ours)
    stores = Stores(Store.open(str(ours)))
    if name in REFUSED:
        with pytest.raises(PlanError, match=REFUSED[name]):
            make_repartition(stores, 5)
        return
    plan = make_repartition(stores, 5, sink=Sink("foreachBatch"))
    apply(plan, stores, query_is_stopped=True, quiet_s=0)
    gone_on = []
    for bench in benches:
        bench.write(range(3, 6))
        gone_on.append(sorted(str(row) for rows in bench.run(bench.checkpoint).values() for row in rows))
    assert gone_on[0] == gone_on[1]


#: After the record was begun; when Spark was let to write; when it had planned the batch, some of its state, its commit.
MOMENTS = ("begun", "asked", "planned", "state", "committed")
TARGETS = ("command", "spark", "jvm")


def begin(lab: Lab) -> subprocess.Popen[str]:
    """A repartition to five that has begun."""
    return subprocess.Popen(command(lab, *to(5)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(process: subprocess.Popen[str], lab: Lab, moment: str, files: int = 1) -> None:
    """Wait for a moment of a repartition, or for its end; at ``state`` for so many zips of state."""

    def has_come() -> bool:
        match moment:
            case "begun":
                return any(records(lab, "begun.json"))
            case "asked":
                return any(records(lab, "spark.json"))
            case "planned":
                return (lab.checkpoint / "offsets" / str(FIRST)).exists()
            case "state":
                return len(list((lab.checkpoint / "state").rglob(f"{FIRST + 1}*.zip"))) >= files
        return (lab.checkpoint / "commits" / str(FIRST)).exists()

    while process.poll() is None and not has_come():
        time.sleep(0.0005)


def kill_at(lab: Lab, rng: random.Random, moment: str, target: str) -> subprocess.CompletedProcess[str]:
    """Begin a repartition to five, kill one of its processes at a moment, and wait until all of them have ended."""
    process = begin(lab)
    wait_for(process, lab, moment, rng.randrange(1, 6))  # state has five zips, and some tables
    time.sleep(rng.choice((0, 0.002, 0.01, 0.05)))
    pids = [pid for path in records(lab, "spark.json") for pid, _ in json.loads(path.read_text())["processes"]]
    victim = process.pid if target == "command" or not pids else pids[TARGETS.index(target) - 1]
    with suppress(ProcessLookupError):
        os.kill(victim, signal.SIGKILL)
    stdout, stderr = process.communicate(timeout=800)
    while any(is_alive(pid) for pid in pids):  # they end by themselves
        time.sleep(0.05)
    return subprocess.CompletedProcess([], process.returncode, stdout, stderr)


def records(lab: Lab, name: str) -> Iterator[Path]:
    return (lab.checkpoint.parent / "_ckpt_undo" / lab.checkpoint.name).glob(f"*/{name}")


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
