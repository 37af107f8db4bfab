"""Every ordered pair of source types put to real Spark: a checkpoint of the one, restarted with the other.

python tests/oracle/source_types.py TREES OUT --types TYPE… [--write TYPE…] [--packages P] [--jars J] [--kafka HOST:PORT]

A program of its own, which needs PySpark alone: it runs in each environment that has the jars of some types, one after
the other. Checkpoints are written below ``/golden/types``, because a file source puts absolute paths into its log.
``tests/oracle/types_run.py`` runs it.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path("/golden/types")
TABLES = {"delta": str(ROOT / "tables/delta"), "iceberg": "lake.orders"}
TOPIC = "orders"


def start(packages: str, jars: str) -> Any:
    """A session with the jars of some types; Iceberg tables are in the catalog ``lake``."""
    from pyspark.sql import SparkSession

    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    builder: Any = SparkSession.builder.master("local[2]").appName("types")
    confs = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(ROOT / "warehouse"),
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    if packages:
        confs |= {
            "spark.jars.packages": packages,
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.databricks.delta.snapshotPartitions": "1",
            "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.lake.type": "hadoop",
            "spark.sql.catalog.lake.warehouse": str(ROOT / "iceberg"),
        }
    if jars:
        confs["spark.jars"] = jars
    for key, value in confs.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


class Lab:
    """Sources of each type with something to read, and queries on them."""

    def __init__(self, spark: Any, kafka: str) -> None:
        self.spark, self.kafka, self._count = spark, kafka, 0

    def add(self, kind: str) -> None:
        """One more batch of input."""
        self._count += 1
        rows = self.spark.range(self._count * 10, self._count * 10 + 3)
        match kind:
            case "file":
                rows.coalesce(1).write.mode("append").json(str(ROOT / "input"))
            case "delta":
                rows.write.format("delta").mode("append").save(TABLES["delta"])
            case "iceberg":
                self.spark.sql("CREATE TABLE IF NOT EXISTS lake.orders (id BIGINT) USING iceberg")
                rows.writeTo("lake.orders").append()
            case "kafka":
                records = rows.selectExpr("CAST(id AS STRING) AS value")
                records.write.format("kafka").option("kafka.bootstrap.servers", self.kafka).save(topic=TOPIC)
            case "rate":
                time.sleep(1.2)  # a row a second

    def read(self, kind: str) -> Any:
        """The stream."""
        reader = self.spark.readStream
        match kind:
            case "file":
                return reader.schema("id LONG").json(str(ROOT / "input"))
            case "rate":
                return reader.format("rate").load()
            case "rate-micro-batch":
                return reader.format("rate-micro-batch").option("rowsPerBatch", 5).load()
            case "kafka":
                options = {"kafka.bootstrap.servers": self.kafka, "subscribe": TOPIC, "startingOffsets": "earliest"}
                return reader.format("kafka").options(**options).load()
            case _:
                return reader.format(kind).load(TABLES[kind])

    def run(self, kind: str, checkpoint: Path) -> tuple[str | None, str, list[int]]:
        """Restart a query on a checkpoint: the error, its first line, and the batches that ran."""
        query, error = None, None
        try:
            writer = self.read(kind).writeStream.format("noop").option("checkpointLocation", str(checkpoint))
            query = writer.trigger(availableNow=True).start()
            with suppress(Exception):  # it is asked for below
                query.awaitTermination(120)
            query.stop()
            raised = query._jsq.exception()
            error = raised.get() if raised.isDefined() else None
        except Exception as failure:  # what start() throws is an answer
            error = getattr(failure, "java_exception", None) or getattr(failure, "_origin", None) or failure
        ran = sorted({json.loads(item.json())["batchId"] for item in query._jsq.recentProgress()}) if query else []
        return (*condition(error), ran) if error is not None else (None, "", ran)


def condition(error: Any) -> tuple[str, str]:
    """The outermost error condition below ``STREAM_FAILED``, else the innermost exception's simple name."""
    chain = []
    while error is not None and len(chain) < 20:
        chain.append(error)
        error = error.getCause() if hasattr(error, "getCause") else None
    for link in chain:
        with suppress(Exception):  # not a SparkThrowable
            name = link.getCondition()
            if name and name != "STREAM_FAILED":
                return str(name), first_line(link)
    last = chain[-1]
    name = last.getClass().getSimpleName() if hasattr(last, "getClass") else type(last).__name__
    return name, first_line(last)


def first_line(link: Any) -> str:
    """The first line of an exception's message, for people."""
    text = str(link.getMessage() if hasattr(link, "getMessage") else link)
    return next((line for line in text.splitlines() if line.strip()), "")[:200]


# --- checkpoints ------------------------------------------------------------------------------------------------------


def _without(*patterns: str) -> Callable[[Path], None]:
    def remove(checkpoint: Path) -> None:
        for pattern in patterns:
            for path in checkpoint.glob(pattern):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    return remove


def _void(checkpoint: Path) -> None:
    _without("offsets/1", "commits/1")(checkpoint)
    entry = checkpoint / "offsets/0"
    entry.write_text("\n".join([*entry.read_text().split("\n")[:2], "-"]))


def _compacted(checkpoint: Path) -> None:
    """The first entry of a source's own log is in a later one, as after the compaction of a file source's log."""
    log = checkpoint / "sources/0"
    for path in [log / "0", log / "1"]:
        if path.is_file():
            path.rename(path.with_name("1.compact")) if path.name == "1" else path.unlink()


def _edited(edit: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """The first file that a source keeps for itself is edited."""

    def change(checkpoint: Path) -> None:
        for path in [checkpoint / "sources/0/0", checkpoint / "sources/0/offsets/0"]:
            if path.is_file():
                path.write_bytes(edit(path.read_bytes()))

    return change


#: In what state the query of the one type left its checkpoint.
STATES: dict[str, Callable[[Path], None]] = {
    "committed": lambda checkpoint: None,
    "in flight": _without("commits/1"),
    "first in flight": _without("commits/*", "offsets/1"),
    "no batch planned": _without("commits/*", "offsets/*"),
    "no source log": _without("sources"),
    "no source log, in flight": _without("sources", "commits/1"),
    "no offset": _void,
    "compacted": _compacted,
    "empty source log": _edited(lambda data: b""),
    "source log and a line break": _edited(lambda data: data + b"\n"),
    "source log and a space": _edited(lambda data: data + b" "),
    "source log of zero bytes": _edited(lambda data: bytes(len(data))),
    "source log with a byte order mark": _edited(lambda data: b"\xef\xbb\xbf" + data),
    "source log of another version": _edited(
        lambda data: data.replace(b"v1", b"v9").replace(b'"version":1', b'"version":9')
    ),
    "source log cut off": _edited(lambda data: data[: len(data) // 2]),
    "source log of its first line": _edited(lambda data: data.partition(b"\n")[0]),
}
#: What happens depends on the clock: the seconds of a rate source count from now on, or from 1970.
OF_THE_CLOCK = {
    ("rate", state, "rate")
    for state in ("no source log", "no source log, in flight", "compacted", "source log cut off")
}


def tree(checkpoint: Path) -> dict[str, str]:
    """What is in a checkpoint, in base64, without Hadoop's checksum files."""
    files = [path for path in sorted(checkpoint.rglob("*")) if path.is_file() and not path.name.endswith(".crc")]
    return {str(path.relative_to(checkpoint)): base64.b64encode(path.read_bytes()).decode() for path in files}


def lay_out(files: dict[str, str], checkpoint: Path) -> None:
    """Write such a tree."""
    shutil.rmtree(checkpoint, ignore_errors=True)
    for name, content in files.items():
        path = checkpoint / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(content))


def write_trees(lab: Lab, kind: str) -> dict[str, dict[str, str]]:
    """A checkpoint of two batches, in each state."""
    home = ROOT / "write"
    shutil.rmtree(home, ignore_errors=True)
    for _ in range(2):
        lab.add(kind)
        error, message, _ = lab.run(kind, home)
        assert error is None, (kind, error, message)
    first, found = tree(home), {}
    for state, change in STATES.items():
        lay_out(first, home)
        change(home)
        found[state] = tree(home)
    return found


def main() -> None:
    """Write the trees that are asked for, and put all to Spark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("trees", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--types", nargs="+", required=True)
    parser.add_argument("--write", nargs="*", default=[])
    parser.add_argument("--packages", default="")
    parser.add_argument("--jars", default="")
    parser.add_argument("--kafka", default="")
    asked = parser.parse_args()
    lab = Lab(start(asked.packages, asked.jars), asked.kafka)
    trees = json.loads(asked.trees.read_text()) if asked.trees.exists() else {}
    for kind in asked.types:
        lab.add(kind)
    for kind in asked.write:
        trees[kind] = write_trees(lab, kind)
        print(kind, {name: len(content) for name, content in trees[kind]["committed"].items()}, flush=True)
    asked.trees.write_text(json.dumps(trees, indent=1) + "\n")
    lines = []
    for written, states in trees.items():
        for state, files in states.items():
            for read in asked.types:
                if (written, state, read) in OF_THE_CLOCK:
                    continue
                home = ROOT / "case"
                lay_out(files, home)
                began = time.monotonic()
                error, message, batches = lab.run(read, home)
                outcome = {"error": error, "message": message.replace(str(home), "<home>"), "batches": batches[:1]}
                lines.append(f"{json.dumps(f'{written} | {state} | {read}')}: {json.dumps(outcome)}")
                print(f"{lines[-1]} ({time.monotonic() - began:.1f} s)", flush=True)
    asked.out.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
