"""Reading progress: whole processes, decoding, and the requests of a poll."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from measuring import Row, in_turn, run, s3_store
from samples import kafka_entry, write_checkpoint

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.storage.requests import answer_from, drive
from airflow_provider_ckpt.waiting import Needs
from airflow_provider_ckpt.waiting.poll import RATE_BATCHES, Poller

PARTITIONS = 10_000
LOG_LENGTHS = (10, 100, 1_000)

SPARK_LATEST = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
package = spark._jvm.org.apache.spark.sql.execution.streaming.checkpointing
print(package.OffsetSeqLog(spark._jsparkSession, sys.argv[1] + "/offsets", True).getLatest().get()._1())
"""


def measure(directory: Path) -> Iterator[Row]:
    """Every row of this subject."""
    yield show_against_spark(directory)
    yield gate_against_pandas(directory)
    yield from decode_against_json()
    yield from requests_per_poke()


def show_against_spark(directory: Path) -> Row:
    """The whole process of ``ckpt show`` against a cold PySpark process that asks Spark's own class."""
    checkpoint = write_checkpoint(directory / "checkpoint", 100)
    ckpt = [str(Path(sys.executable).with_name("ckpt")), "show", str(checkpoint), "--json"]
    pyspark = [sys.executable, "-c", SPARK_LATEST, str(checkpoint)]
    assert json.loads(run(ckpt))["latest_planned_batch"] == 99 == int(run(pyspark).split()[-1])
    ours, theirs = in_turn(lambda: run(ckpt), lambda: run(pyspark), rounds=5)
    ratio = f"{theirs / ours:.0f}x faster"
    return "ckpt show / cold PySpark getLatest", f"{ours:.2f} s", f"{theirs:.2f} s", ratio, ">= 35x faster"


def gate_against_pandas(directory: Path) -> Row:
    """The whole process of ``ckpt gate`` against a process that does nothing but import pandas."""
    checkpoint = str(write_checkpoint(directory / "gated", 100))
    ckpt = [str(Path(sys.executable).with_name("ckpt")), "gate", checkpoint, "--json"]
    ours, theirs = in_turn(lambda: run(ckpt), lambda: run([sys.executable, "-c", "import pandas"]), rounds=7)
    return "ckpt gate / import pandas", f"{ours:.2f} s", f"{theirs:.2f} s", f"{ours / theirs:.2f}", "< 1"


def decode_against_json() -> list[Row]:
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


def requests_per_poke() -> list[Row]:
    """Requests that a poll for a new batch sends to S3, which lists 1,000 names at once, by the length of the log."""
    rows = []
    for length in LOG_LENGTHS:
        with s3_store() as (store, sent):
            newest = length - 1
            for batch in range(length - 2):
                store.create(f"commits/{batch}", b"v1\n{}")
            for batch in (max(0, length - RATE_BATCHES - 3), *range(length - 4, length)):
                store.write(f"offsets/{batch}", kafka_entry(10))
            for batch, needs, target in ((newest - 1, Needs(), "batch"), (newest, Needs(offsets=True), "watermark")):
                poller = Poller(store.location)
                drive(poller.poll(needs), answer_from(store))
                store.create(f"commits/{batch}", b"v1\n{}")
                sent.clear()
                assert drive(poller.poll(needs), answer_from(store)).batch_id == batch
                rows.append(
                    (f"S3 requests a poll for a {target}, {length:,} batches kept", str(len(sent)), "-", "-", "<= 2")
                )
    return rows
