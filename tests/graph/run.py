"""Run a fleet of thirty queries in real Spark 3.5, 4.1 and 4.3, scan it, and compare what init says with what is true.

python -m tests.graph.run [--record]    --record also writes the archive that the tests of every run read

Delta and Iceberg have nothing for Spark 4.3 in Maven, so that Spark 3.5 and 4.1 write these tables. Exit code 1 for a
line that is wrong, or that says less than files prove.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.kafka_lab import Broker, connector_jars

from . import fleet_archive, fleet_writer
from .fleet_jobs import CHECKPOINTS, COPIED, JOBS, LAKE, ROOT, SPARKS, WAREHOUSE, edges, truth_of

REPOSITORY = Path(__file__).resolve().parents[2]
#: The lakes of one Spark read what the other one has written.
ORDER = ("3.5", "4.1", "4.3")


def write_fleet(broker: Broker) -> None:
    """Run all queries."""
    for topic in ("orders", "out35", "out43"):
        broker.create_named(topic)
    producer = broker.producer()
    for number in range(12):
        producer.produce("orders", key=f"k{number % 3}", value=str(number))
    producer.flush()
    for spark in ORDER:
        python = str(REPOSITORY / SPARKS[spark] / "bin/python")
        jars = [connector_jars()] if spark == "4.3" else []
        words = [python, "-m", "tests.graph.fleet_writer", spark, broker.bootstrap, *jars]
        subprocess.run(words, check=True, cwd=REPOSITORY)
    shutil.copytree(*(LAKE / name for name in COPIED))


def scan(*words: str) -> dict[str, Any]:
    """What ``ckpt init`` says."""
    ckpt = str(Path(sys.executable).with_name("ckpt"))
    roots = [str(CHECKPOINTS), "--tables", str(LAKE), "--tables", str(WAREHOUSE)]
    done = subprocess.run([ckpt, "init", *roots, "--out", "-", "--json", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def compare(found: dict[str, Any], brokers: str = "") -> list[str]:
    """Print a line for each query; what is wrong or missing."""
    by_name = {item["location"].removeprefix(f"{CHECKPOINTS}/"): item for item in found["queries"]}
    wrong = [f"{name}: nobody runs it" for name in by_name.keys() - {job.name for job in JOBS}]
    for job in JOBS:
        truth, said = truth_of(job), by_name[job.name]
        sources = [source["text"] or "" for source in said["sources"].values()]
        ids = [f"source {source_id}" for source_id in said["sources"]]
        expected = [*truth.sources]
        if brokers:
            reads = zip(job.sources, truth.sources, strict=True)
            expected = [f"kafka:{brokers}/orders" if real.startswith("kafka:") else text for real, text in reads]
        pairs = [
            *zip(ids, job.sources, expected, sources, said["sources"].values(), strict=True),
            ("sink", job.sink, truth.sink, said["sink"]["text"] or "", said["sink"]),
            ("spark", job.spark, truth.spark, said["spark_version"]["text"] or "", said["spark_version"]),
        ]
        for what, real, proven, text, known in pairs:
            ok = text == proven and bool(known["proven"]) == bool(text) and (text == real or brokers or known["say"])
            ok = ok and (not known["perhaps"] or _fits(known["perhaps"], real))
            print(f"{'' if ok else 'WRONG '}{job.name}\t{what}\t{real}\t{text or '-'}\t{known['perhaps'] or '-'}")
            wrong += [] if ok else [f"{job.name} {what}: {text!r}, but {proven!r} is proven of {real}"]
    names = {item["name"]: item["location"].removeprefix(f"{CHECKPOINTS}/") for item in found["queries"]}
    told = {(names[edge["writer"]], names[edge["reader"]], edge["place"]) for edge in found["edges"]}
    print(f"edges: {len(told)} found, {len(edges())} true and provable")
    wrong += [f"edge {edge}: not true" for edge in told - edges()]
    wrong += [f"edge {edge}: not found" for edge in edges() - told]
    return wrong


def _fits(perhaps: str, real: str) -> bool:
    """True if a line that is offered is true as well; servers are for a person to fill in."""
    kind, _, place = real.partition(":")
    filled = perhaps.replace("HOST:PORT/", "")
    return filled in (real, kind) or (kind == "file" and place.startswith(filled.removeprefix("file:")))


def main() -> int:
    """Run them, scan them, and compare."""
    shutil.rmtree(ROOT, ignore_errors=True)
    fleet_writer.add_inputs()
    with tempfile.TemporaryDirectory(prefix="thirty-") as scratch:
        broker = Broker(Path(scratch))
        try:
            write_fleet(broker)
            wrong = compare(scan())
            print("With the brokers:")
            wrong += compare(scan("--brokers", broker.bootstrap), broker.bootstrap)
        finally:
            broker.stop()
    if "--record" in sys.argv:
        fleet_archive.pack()
    print(*wrong, f"{len(JOBS)} queries, {len(wrong)} wrong", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
