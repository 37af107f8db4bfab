"""Record what Spark does with a checkpoint whose sources are of another type: all pairs, in two environments.

python -m tests.oracle.types_run        write types-trees.json, types-4.1.json and types-4.3.json

Delta and Iceberg have jars for Spark 4.1 (tests/sinks/lakes.txt); their checkpoints are put to Spark 4.3 as well, with
the types that it has. The Kafka connector is one for Spark 4.2, which does not run as a whole in 4.1. Needs `.venv-lakes`, `.kafka` and `.kafka-connector`, which make makes.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.kafka_lab import Broker, connector_jars

from .source_types import ROOT

HERE = Path(__file__).resolve().parent
LAKES = HERE.parents[1] / ".venv-lakes/bin/python"
OF_SPARK = ["file", "rate", "rate-micro-batch", "kafka"]


def main() -> int:
    """Ask Spark 4.1, which writes the trees of the lakes, and then Spark 4.3, which writes the rest."""
    lines = (HERE.parent / "sinks/lakes.txt").read_text().splitlines()
    packages = ",".join(line for line in lines if not line.startswith(("#", "pyspark")))
    program, trees = str(HERE / "source_types.py"), HERE / "types-trees.json"
    trees.unlink(missing_ok=True)
    shutil.rmtree(ROOT, ignore_errors=True)
    ROOT.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="types-") as scratch:
        broker = Broker(Path(scratch))
        broker.create_named("orders")
        shared = ["--jars", connector_jars(), "--kafka", broker.bootstrap]

        def ask(python: str, out: str, *more: str) -> None:
            subprocess.run([python, program, str(trees), str(HERE / out), *shared, *more], check=True)

        lakes = ["delta", "iceberg"]
        try:
            ask(str(LAKES), "types-4.1.json", "--packages", packages, "--types", *lakes, "--write", *lakes)
            ask(sys.executable, "types-4.3.json", "--types", *OF_SPARK, "--write", *OF_SPARK)
            ask(str(LAKES), "types-4.1.json", "--packages", packages, "--types", *OF_SPARK[:3], *lakes)
        finally:
            broker.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
