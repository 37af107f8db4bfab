"""The logs of a fleet as a table on Spark: CPU seconds of process trees, against plain Python and Spark's classes."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from measuring import Row, run
from samples import write_log

from airflow_provider_ckpt.batches.positions import ranges_between
from airflow_provider_ckpt.codec import checkpoint_offset
from airflow_provider_ckpt.codec.checkpoint_offset import CheckpointPosition

FEW, MANY, BATCHES = 400, 4_000, 50
#: Through Spark's own classes one batch after the other: so many checkpoints are enough.
LOOPED = 40
LOCATIONS = 100_000
#: What a plan is made for, and the prices of S3 for a million requests that list and that read, US dollars.
PLANNED, RETAINED, LIST_USD, READ_USD = 10**6, 100, 5.0, 0.4
#: Among so many more partitions the same fleet is divided, to see what a partition costs.
MORE_PARTITIONS = 32

PLAIN = """
import json, sys, time
from airflow_provider_ckpt.fleet.find import find_checkpoints
from airflow_provider_ckpt.batches.read_logs import one_after_the_other
from airflow_provider_ckpt.batches.read_rows import Reading, read_rows
from airflow_provider_ckpt.batches.selection import DeclaredTypes
from airflow_provider_ckpt.storage.store import Store
reading = Reading(declared=DeclaredTypes.parse({"0": "kafka"}))
before = time.process_time()
fleet = list(find_checkpoints([Store.open(sys.argv[1])]))
find_s = time.process_time() - before
rows = sum(1 for found in fleet for row in read_rows(found.store, reading, one_after_the_other(found.store)))
print(json.dumps({"rows": rows, "cpu_s": time.process_time(), "find_ms": 1000 * find_s / len(fleet)}))
"""

#: A session reads fleets, the first one once before, and says what each costs; then the same through ``OffsetSeqLog``.
SPARK = """
import json, os, sys, time
sys.path.insert(0, sys.argv[1])
from processes import cpu_s, peak_python_mib
from pyspark.sql import SparkSession
from airflow_provider_ckpt.spark import register
os.environ["PYSPARK_PYTHON"] = sys.executable
roots, looped, batches = json.loads(sys.argv[2]), json.loads(sys.argv[3]), int(sys.argv[4])
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
builder = builder.config("spark.python.authenticate.socketTimeout", "300s").config("spark.log.level", "ERROR")
spark = builder.config("spark.driver.memory", "1g").getOrCreate()
register(spark)
me, found = os.getpid(), []

def read(root, **options):
    before, began = cpu_s(me), time.perf_counter()
    frame = spark.read.format("checkpoint").option("sourceTypes", '{"0": "kafka"}').options(**options).load(root)
    frame.write.format("noop").mode("overwrite").save()
    found.append({"cpu_s": cpu_s(me) - before, "wall_s": time.perf_counter() - began, "mib": peak_python_mib(me)})

read(roots[0])
found.clear()
for root in roots:
    read(root)
for partitions in (1, 2, int(sys.argv[5])):
    read(roots[0], partitions=partitions)
checkpointing = spark._jvm.org.apache.spark.sql.execution.streaming.checkpointing

def loop(locations):
    for location in locations:
        log = checkpointing.OffsetSeqLog(spark._jsparkSession, location + "/offsets", True)
        for batch in range(batches):
            assert log.get(batch).isDefined()

loop(looped[:5])
before = cpu_s(me)
loop(looped)
found.append({"cpu_s": cpu_s(me) - before})
print(json.dumps(found))
"""


def measure(directory: Path) -> Iterator[Row]:
    """Every row of this subject."""
    yield from table(directory)
    yield from offsets()


def table(directory: Path) -> Iterator[Row]:
    """Rows a CPU second, and the memory of a Python worker."""
    template = write_log(directory / "template", BATCHES)
    fleets = [make_fleet(template, directory / str(count), count) for count in (FEW, MANY)]
    plain = json.loads(run([sys.executable, "-c", PLAIN, str(directory / str(FEW))]))
    assert plain["rows"] == FEW * BATCHES
    roots = json.dumps([str(directory / str(count)) for count in (FEW, MANY)])
    arguments = [roots, json.dumps(fleets[0][:LOOPED]), str(BATCHES), str(2 + MORE_PARTITIONS)]
    output = run([sys.executable, "-c", SPARK, str(Path(__file__).parent), *arguments])
    few, many, alone, both, cut, looped = json.loads(output.splitlines()[-1])
    ours = FEW * BATCHES / few["cpu_s"]
    theirs = {
        ("one plain Python process", ">= 0.5x"): plain["rows"] / plain["cpu_s"],
        ("OffsetSeqLog in a loop, offsets alone", ">= 5x"): LOOPED * BATCHES / looped["cpu_s"],
    }
    for (what, aim), rate in theirs.items():
        yield f"rows a CPU second, Spark / {what}", f"{ours:,.0f}", f"{rate:,.0f}", f"{ours / rate:.2f}x", aim
    larger = MANY * BATCHES / many["cpu_s"]
    yield "rows a CPU second, one plain Python process", f"{plain['rows'] / plain['cpu_s']:,.0f}", "-", "-", ">= 9,000"
    yield (
        f"rows a CPU second, {MANY:,} / {FEW:,} checkpoints",
        f"{larger:,.0f}",
        f"{ours:,.0f}",
        f"{larger / ours:.2f}x",
        ">= 1x",
    )
    mib = f"{many['mib']:.0f} MiB", f"{few['mib']:.0f} MiB", f"{many['mib'] / few['mib']:.2f}x"
    yield f"peak memory of a Python process, {MANY:,} / {FEW:,} checkpoints", *mib, "<= 1.1x"
    speed_up = alone["wall_s"] / both["wall_s"]
    walls = f"{both['wall_s']:.1f} s", f"{alone['wall_s']:.1f} s", f"{speed_up:.2f}x"
    yield "seconds, two tasks on two cores / one task", *walls, ">= 1.5x, quiet"
    yield from plan(larger, plain["find_ms"], max(0.0, cut["cpu_s"] - both["cpu_s"]) / MORE_PARTITIONS)


def plan(rows_a_cpu_s: float, find_ms: float, partition_s: float) -> Iterator[Row]:
    """What very many checkpoints on S3 take, by what was measured here; docs/pipeline.md has the formulas."""
    rows, partitions = PLANNED * RETAINED, PLANNED // 500
    usd = (2 * PLANNED * LIST_USD + 2 * rows * READ_USD) / 1e6
    yield "a checkpoint that is found, driver, CPU", f"{find_ms:.2f} ms", "-", "-", "-"
    yield "a partition more, CPU", f"{1000 * partition_s:.0f} ms", "-", "-", "-"
    what = f"{PLANNED:,} checkpoints of {RETAINED} batches, computed"
    yield f"{what}: CPU of executors", f"{rows / rows_a_cpu_s / 3600:.1f} h", "-", "-", "-"
    yield f"{what}: CPU of the driver", f"{PLANNED * find_ms / 60_000:.1f} min", "-", "-", "-"
    yield f"{what}: partitions, requests, USD", f"{partitions:,}, {2 * PLANNED + 2 * rows:,}, {usd:,.0f}", "-", "-", "-"


def make_fleet(template: Path, root: Path, count: int) -> list[str]:
    """So many checkpoints, of hard links to the files of one; their locations."""
    names = [path.relative_to(template) for path in template.rglob("*") if path.is_file()]
    locations = [root / f"team-{number % 20:02d}" / f"query-{number:05d}" for number in range(count)]
    for location in locations:
        for log in ("offsets", "commits"):
            (location / log).mkdir(parents=True)
        for name in names:
            os.link(template / name, location / name)
    return [str(location) for location in locations]


def offsets() -> Iterator[Row]:
    """What a micro-batch of a stream over very many checkpoints does with its offsets, polls and Spark left out."""
    start = {f"s3://lake/team-{n // 100:04d}/query-{n:06d}": at(n, n % 1_000) for n in range(LOCATIONS)}
    end = {**start, **{name: at(n, n % 1_000 + 1) for n, name in enumerate(start) if not n % 10}}
    first = checkpoint_offset.encode(start)
    checkpoint_offset.encode(end)  # the names are as in the micro-batch before
    before = time.process_time()
    last = json.loads(json.dumps(checkpoint_offset.encode(end)))
    ranges = list(ranges_between(checkpoint_offset.decode(first), checkpoint_offset.decode(last)))
    seconds = time.process_time() - before
    assert len(ranges) == LOCATIONS // 10
    what = f"{LOCATIONS:,} checkpoints, a tenth with news"
    yield f"offsets of a micro-batch, {what}, CPU", f"{seconds:.2f} s", "-", "-", "< 1 s"
    yield f"bytes of the offset, {what}", f"{len(json.dumps(last)):,}", "-", "-", "< 1,000,000"


def at(number: int, batch_id: int) -> CheckpointPosition:
    """A position as of a fleet whose queries commit at moments of their own."""
    return CheckpointPosition(0, 0, batch_id, 1_795_353_166_039 + number * 7_919 % 600_000)
