"""``make bench``: costs as ratios and counts, both sides measured in turn in one run."""

from __future__ import annotations

import itertools
import json
import logging
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from airflow_provider_ckpt import codec, lifecycle
from airflow_provider_ckpt.lifecycle import Stores
from airflow_provider_ckpt.objects import StoredObject
from airflow_provider_ckpt.report import Table, to_rich
from airflow_provider_ckpt.store import Store

PARTITIONS = 10_000
LOG_LENGTHS = (10, 100, 1_000)
FLEET_SIZES = (100, 2_000)
FLEET_BATCHES = 10
#: A state of 1 GB in 20,000 files: so many partitions, each a chain of so many changes.
STATE_PARTITIONS, STATE_VERSIONS, STATE_FILE_BYTES = 100, 200, 50_000
S3_PARTITIONS, S3_VERSIONS = 10, 20
BACKUP_ROUNDS = 3
ROLLBACK_BYTES = {"small": 10_000, "large": 200_000}
CONF = {"spark.sql.shuffle.partitions": "200", "spark.sql.streaming.multipleWatermarkPolicy": "min"}

SPARK_LATEST = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
package = spark._jvm.org.apache.spark.sql.execution.streaming.checkpointing
print(package.OffsetSeqLog(spark._jsparkSession, sys.argv[1] + "/offsets", True).getLatest().get()._1())
"""

FLEET = """
import sys
from pathlib import Path
from airflow_provider_ckpt.cli import run
run(["fleet", sys.argv[1], "--json"])
print(next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")))
"""


def main() -> None:
    """Run every benchmark and print one table."""
    with tempfile.TemporaryDirectory() as directory:
        rows = [
            show_against_spark(Path(directory)),
            gate_against_pandas(Path(directory)),
            *decode_against_json(),
            *requests_per_poke(),
        ]
        rows += [*fleet(Path(directory)), fleet_requests()]
        rows += [*backups(Path(directory)), *backups_in_s3(Path(directory)), rollback_by_state(Path(directory))]
    columns = ("what", "ours", "theirs", "ratio", "aim")
    Console(width=150).print(to_rich(Table("Measured side by side in this run", columns, tuple(rows))))


def show_against_spark(directory: Path) -> tuple[str, ...]:
    """The whole process of ``ckpt show`` against a cold PySpark process that asks Spark's own class."""
    checkpoint = write_checkpoint(directory / "checkpoint", 100)
    ckpt = [str(Path(sys.executable).with_name("ckpt")), "show", str(checkpoint), "--json"]
    pyspark = [sys.executable, "-c", SPARK_LATEST, str(checkpoint)]
    assert json.loads(run(ckpt))["latest_planned_batch"] == 99 == int(run(pyspark).split()[-1])
    ours, theirs = in_turn(lambda: run(ckpt), lambda: run(pyspark), rounds=5)
    ratio = f"{theirs / ours:.0f}x faster"
    return "ckpt show / cold PySpark getLatest", f"{ours:.2f} s", f"{theirs:.2f} s", ratio, ">= 20x faster"


def gate_against_pandas(directory: Path) -> tuple[str, ...]:
    """The whole process of ``ckpt gate`` against a process that does nothing but import pandas."""
    checkpoint = str(write_checkpoint(directory / "gated", 100))
    ckpt = [str(Path(sys.executable).with_name("ckpt")), "gate", checkpoint, "--json", "--deep"]
    ours, theirs = in_turn(lambda: run(ckpt), lambda: run([sys.executable, "-c", "import pandas"]), rounds=7)
    return "ckpt gate --deep / import pandas", f"{ours:.2f} s", f"{theirs:.2f} s", f"{ours / theirs:.2f}", "< 1"


def decode_against_json() -> list[tuple[str, ...]]:
    """A Kafka entry with many partitions, decoded as a whole and for its watermark, against ``json.loads``."""
    data = kafka_entry(PARTITIONS)
    text = data.split(b"\n", 2)

    def loads() -> None:
        json.loads(text[1])
        json.loads(text[2])

    def whole() -> int:
        entry = codec.decode("offsets/6", data)
        return len(entry.offset("0").view("kafka").value["events"])

    def watermark() -> int:
        return codec.decode("offsets/6", data).metadata.batch_watermark_ms

    assert whole() == PARTITIONS and watermark() == 1767225640000
    rows = []
    for what, ours_call, aim in (("all offsets", whole, "<= 1.2x"), ("watermark alone", watermark, "<= 0.1x")):
        ours, theirs = in_turn(ours_call, loads, rounds=300)
        name = f"decode {PARTITIONS:,} Kafka partitions, {what} / json.loads"
        rows.append((name, f"{ours * 1e3:.3f} ms", f"{theirs * 1e3:.3f} ms", f"{ours / theirs:.2f}x", aim))
    return rows


def requests_per_poke() -> list[tuple[str, ...]]:
    """Requests that one poke of a sensor sends to an S3 API, by the length of the log."""
    rows = []
    for length in LOG_LENGTHS:
        with s3_store() as (store, sent):
            for batch in range(length):
                store.create(f"commits/{batch}", b"v1\n{}")
            store.create(f"offsets/{length - 1}", kafka_entry(10))
            for with_offsets, target in ((False, "batch"), (True, "watermark or offsets")):
                sent.clear()
                assert lifecycle.read_progress(store, with_offsets=with_offsets).batch_id == length - 1
                name = f"S3 requests a poke for a {target}, {length:,} batches kept"
                rows.append((name, str(len(sent)), "-", "-", "<= 2"))
    return rows


def fleet(directory: Path) -> list[tuple[str, ...]]:
    """The whole process of ``ckpt fleet`` over many checkpoints on a local disk, and its memory against few of them."""
    template = write_checkpoint(directory / "template", FLEET_BATCHES)
    measured = []
    for count in FLEET_SIZES:
        root = directory / f"fleet-{count}"
        for number in range(count):
            shutil.copytree(template, root / f"team-{number % 20}" / f"query-{number}", copy_function=os.link)
        started = time.perf_counter()
        summary, peak_kib = run([sys.executable, "-c", FLEET, str(root)]).splitlines()[-2:]
        measured.append((time.perf_counter() - started, int(peak_kib)))
        assert json.loads(summary.partition(' "summary": ')[2][:-1])["checkpoints"] == count
    (_, few_kib), (seconds, many_kib) = measured
    few, many = FLEET_SIZES
    memory = f"ckpt fleet, peak memory, {many:,} / {few:,} checkpoints"
    mib = f"{many_kib / 1024:.1f} MiB", f"{few_kib / 1024:.1f} MiB", f"{many_kib / few_kib:.2f}x"
    return [
        (f"ckpt fleet, {many:,} checkpoints on a local disk", f"{seconds:.1f} s", "-", "-", "-"),
        ("ckpt fleet, checkpoints a second", f"{many / seconds:.0f}", "-", "-", "-"),
        (memory, *mib, "<= 1.2x"),
    ]


def fleet_requests() -> tuple[str, ...]:
    """Requests that a fleet sends to an S3 API for each of its checkpoints, finding them included."""
    count = 20
    with s3_store() as (lake, sent), tempfile.TemporaryDirectory() as directory:
        template = write_checkpoint(Path(directory), FLEET_BATCHES)
        for number, path in itertools.product(range(count), template.rglob("*")):
            if path.is_file():
                lake.create(f"query-{number}/{path.relative_to(template).as_posix()}", path.read_bytes())
        sent.clear()
        rows = list(lifecycle.judge_checkpoints(lifecycle.find_checkpoints([lake])))
        assert [row.latest_committed_batch for row in rows] == [FLEET_BATCHES - 1] * count
    return "S3 requests a checkpoint of a fleet, found and checked", f"{len(sent) / count:.2f}", "-", "-", "<= 6"


def backups(directory: Path) -> list[tuple[str, ...]]:
    """A full backup of a large state against other ways to copy it, and a second backup when nothing has changed.

    Ours reads back nothing, but hashes every byte and returns when all of it is on the disk, as ``cp -a; sync`` does.
    """
    checkpoint = write_state(directory / "stateful", STATE_PARTITIONS, STATE_VERSIONS)
    copies = directory / "copies"
    ways: dict[str, Callable[[], object]] = {
        "ours": lambda: lifecycle.take_backup(Store.open(str(checkpoint)), Store.open(str(copies)), full=True),
        "cp -a; sync": lambda: (run(["cp", "-a", str(checkpoint), str(copies)]), os.sync()),
        "cp -a": lambda: run(["cp", "-a", str(checkpoint), str(copies)]),
    }
    if shutil.which("rclone"):
        ways["rclone copy"] = lambda: run(["rclone", "copy", str(checkpoint), str(copies)])
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for _, (way, copy) in itertools.product(range(BACKUP_ROUNDS), ways.items()):
        shutil.rmtree(copies, ignore_errors=True)
        os.sync()
        started = time.perf_counter()
        copy()
        taken[way].append(time.perf_counter() - started)
    ours, *others = [(way, statistics.median(seconds)) for way, seconds in taken.items()]
    what = f"full backup, {STATE_PARTITIONS * STATE_VERSIONS:,} state files of {STATE_FILE_BYTES // 1000} KB"
    rows: list[tuple[str, ...]] = [
        (f"{what} / {way}", f"{ours[1]:.1f} s", f"{theirs:.1f} s", f"{ours[1] / theirs:.2f}x", "<= 1.3x")
        for way, theirs in others
    ]
    return [*rows, *unchanged_backup(checkpoint, copies)]


def unchanged_backup(checkpoint: Path, root: Path) -> list[tuple[str, ...]]:
    """What a second backup of an unchanged checkpoint moves and asks."""
    shutil.rmtree(root, ignore_errors=True)
    source, place = CountedStore.open(str(checkpoint)), CountedStore.open(str(root))
    source.listings, place.listings = [], []
    lifecycle.take_backup(source, place)
    source.listings.clear()
    place.listings.clear()
    started = time.perf_counter()
    again = lifecycle.take_backup(source, place)
    seconds = time.perf_counter() - started
    moved = sum(item.size for item in again.objects if item.stored_at.startswith(f"{again.backup_id}/state/"))
    listed = [name for name in source.listings if name.startswith("state/0/")]
    referred = [name for name in place.listings if "/checkpoint/state/0/" in name]
    return [
        ("unchanged second backup, bytes of state moved", str(moved), "-", "-", "0"),
        ("unchanged second backup, bytes of log entries moved", str(again.own_bytes), "-", "-", "-"),
        ("unchanged second backup, listings a state directory", f"{len(listed) / STATE_PARTITIONS:g}", "-", "-", "1"),
        ("  and of what it refers to", f"{len(referred) / STATE_PARTITIONS:g}", "-", "-", "1"),
        ("unchanged second backup, time", f"{seconds:.1f} s", "-", "-", "-"),
    ]


class CountedStore(Store):
    """Notes what is listed."""

    listings: list[str]

    def ls(self, directory: str = "") -> tuple[dict[str, StoredObject], list[str]]:
        """As a store does it."""
        self.listings.append(directory)
        return super().ls(directory)


def rollback_by_state(directory: Path) -> tuple[str, ...]:
    """A rollback over six batches of twelve, planned and applied, where state files are small and where they are large.

    What is removed is kept by a second name on the same disk, so the bytes are never read.
    """
    places = [Stores(Store.open(str(write_batches(directory / name, size)))) for name, size in ROLLBACK_BYTES.items()]
    taken: list[list[float]] = [[] for _ in places]
    for _, (stores, seconds) in itertools.product(range(5), zip(places, taken, strict=True)):
        os.sync()
        started = time.perf_counter()
        lifecycle.apply(lifecycle.make_rollback(stores, 5), stores, query_is_stopped=True, quiet_s=0)
        seconds.append(time.perf_counter() - started)
        lifecycle.apply(lifecycle.make_undo(stores), stores, query_is_stopped=True, quiet_s=0)
    few, many = (statistics.median(seconds) for seconds in taken)
    name = "rollback of 6 batches, 20x the bytes of state / 1x"
    return name, f"{many * 1e3:.0f} ms", f"{few * 1e3:.0f} ms", f"{many / few:.2f}x", "<= 1.2x"


def write_batches(root: Path, state_bytes: int) -> Path:
    """A stopped query of twelve batches with state in twenty partitions, each file of so many bytes."""
    write_state(root, 20, 12, state_bytes)
    store = Store.open(str(root))
    metadata = json.dumps({"batchWatermarkMs": 0, "conf": {"spark.sql.shuffle.partitions": "20"}})
    for batch in range(10):
        store.create(f"offsets/{batch}", f"v1\n{metadata}\n{batch}".encode())
        store.create(f"commits/{batch}", b'v1\n{"nextBatchWatermarkMs":0}')
    return root


def backups_in_s3(directory: Path) -> list[tuple[str, ...]]:
    """Bytes of state that pass through the client, and requests, of a backup inside one S3."""
    checkpoint = write_state(directory / "small", S3_PARTITIONS, S3_VERSIONS)
    files = [path for path in checkpoint.rglob("*") if path.is_file()]
    with s3_store() as (lake, sent):
        for path in files:
            lake.create(f"orders/{path.relative_to(checkpoint).as_posix()}", path.read_bytes())
        sent.clear()
        taken = lifecycle.take_backup(lake.child("orders"), lake.child("backups"))
        asked = [name.rpartition(".")[2] for name in sent]
        state = [item for item in taken.objects if item.name.startswith("state/")]
        reads, logs = asked.count("GetObject"), len(taken.objects) - len(state)
        sent.clear()
        again = lifecycle.take_backup(lake.child("orders"), lake.child("backups"))
        moved = again.own_bytes - sum(item.size for item in again.objects if not item.name.startswith("state/"))
    return [
        ("backup inside S3, objects of state, and those copied by S3", f"{len(state)}", "-", "-", "-"),
        ("backup inside S3, GET requests in all, for log entries", f"{reads} for {logs}", "-", "-", "-"),
        ("backup inside S3, requests an object", f"{len(asked) / len(taken.objects):.2f}", "-", "-", "-"),
        ("unchanged second backup inside S3, bytes of state moved", str(max(0, moved)), "-", "-", "0"),
        ("unchanged second backup inside S3, requests", str(len(sent)), "-", "-", "-"),
    ]


@contextmanager
def s3_store() -> Iterator[tuple[Store, list[str]]]:
    """A store in a bucket of its own of a real S3 API, and the requests that it has sent."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    bucket, sent = f"bench-{uuid.uuid4()}", []
    store = Store.open(f"s3://{bucket}/lake", key="k", secret="s", endpoint_url=f"http://{host}:{port}")
    store.fs.mkdir(bucket)
    store.fs.s3.meta.events.register("before-send.s3", lambda event_name, **_: sent.append(event_name))
    try:
        yield store, sent
    finally:
        server.stop()


def in_turn(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Median seconds of two calls, measured one after the other, so that both see the same machine."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for call, taken in zip((ours, theirs), times, strict=True):
            started = time.perf_counter()
            call()
            taken.append(time.perf_counter() - started)
    return statistics.median(times[0]), statistics.median(times[1])


def run(command: list[str]) -> str:
    """The output of a process."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def kafka_entry(partitions: int) -> bytes:
    """An offset log entry as a Kafka query writes it."""
    metadata = json.dumps({"batchWatermarkMs": 1767225640000, "batchTimestampMs": 1767225650000, "conf": CONF})
    offsets = json.dumps({"events": {str(number): 10**9 + number for number in range(partitions)}})
    return "\n".join(["v1", metadata, offsets]).encode()


def write_checkpoint(root: Path, batches: int) -> Path:
    """A stopped query with so many batches in its logs."""
    store = Store.open(str(root))
    store.create("metadata", json.dumps({"id": str(uuid.uuid4())}).encode())
    for batch in range(batches):
        store.create(f"offsets/{batch}", kafka_entry(12))
        store.create(f"commits/{batch}", b'v1\n{"nextBatchWatermarkMs":0}')
    return root


def write_state(root: Path, partitions: int, versions: int, file_bytes: int = STATE_FILE_BYTES) -> Path:
    """A stopped query with an HDFS-backed state, all of whose files a restart needs."""
    data, last = os.urandom(file_bytes), versions - 1
    metadata = json.dumps({"batchWatermarkMs": 0, "conf": {"spark.sql.shuffle.partitions": str(partitions)}})
    logs = Store.open(str(root))
    logs.create("metadata", json.dumps({"id": str(uuid.uuid4())}).encode())
    for batch in (last - 1, last):
        logs.create(f"offsets/{batch}", f"v1\n{metadata}\n{batch}".encode())
        logs.create(f"commits/{batch}", b'v1\n{"nextBatchWatermarkMs":0}')
    for partition in range(partitions):
        directory = root / "state" / "0" / str(partition)
        directory.mkdir(parents=True)
        for version in range(1, versions + 1):
            (directory / f"{version}.delta").write_bytes(data)
    return root


if __name__ == "__main__":
    main()
