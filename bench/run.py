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
from airflow_provider_ckpt.report import Table, to_rich
from airflow_provider_ckpt.store import Store

PARTITIONS = 10_000
LOG_LENGTHS = (10, 100, 1_000)
FLEET_SIZES = (100, 2_000)
FLEET_BATCHES = 10
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
        rows = [show_against_spark(Path(directory)), gate_against_pandas(Path(directory)), *decode_against_json(), *requests_per_poke()]
        rows += [*fleet(Path(directory)), fleet_requests()]
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


if __name__ == "__main__":
    main()
