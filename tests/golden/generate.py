"""Write the golden checkpoints of the running Spark version, or verify the recorded ones against it.

python tests/golden/generate.py [--root DIR] write [--only CASE ...]
python tests/golden/generate.py [--root DIR] verify [--only CASE ...]
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyspark
from archive import difference, pack, read_archive, read_tree, render
from cases import CASES
from facts import VERSION, expected, read_expected, write_expected
from lab import COMMON_CONFS, Case, Lab
from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent
NEUTRAL_ROOT = Path("/golden")  # Spark records absolute paths


def start_spark(root: Path, jars: Iterable[Path] = ()) -> SparkSession:
    """A small local session whose own files stay under the root, with jars that PySpark lacks."""
    scratch = root / ".spark"
    scratch.mkdir(parents=True, exist_ok=True)
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    confs = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        # Queries of seconds do not pay for the second compiler of the JVM, nor for parallel collectors.
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={scratch} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.streaming.stateStore.maintenanceInterval": "1h",  # a case runs it when it wants it
    }
    builder: Any = SparkSession.builder.master("local[2]").appName("golden")
    if jars:
        confs["spark.jars"] = ",".join(map(str, jars))
    for key, value in confs.items():
        builder = builder.config(key, value)
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def run_case(spark: SparkSession, case: Case, home: Path) -> dict[str, Any]:
    """Write the checkpoint of one case from scratch; return the facts about it."""
    shutil.rmtree(home, ignore_errors=True)
    lab = Lab(spark, case, home)
    confs = {**COMMON_CONFS, **case.confs}
    for key, value in confs.items():
        spark.conf.set(key, value)
    try:
        case.write(lab)
        return expected(lab)
    finally:
        for key in confs:
            spark.conf.unset(key)


def write(case: Case, home: Path, facts: dict[str, Any], recorded: Path) -> list[str]:
    """Record a case that has run."""
    recorded.mkdir(exist_ok=True)
    pack(home, recorded / f"{case.name}.tar.gz")
    write_expected(recorded, facts)
    return []


def verify(case: Case, home: Path, facts: dict[str, Any], recorded: Path) -> list[str]:
    """Compare a case that has run with the recorded one: how they differ."""
    tree = read_archive(recorded / f"{case.name}.tar.gz")
    wanted = render(tree, read_expected(recorded).get(case.name, {}), timed=case.timed)
    return difference(wanted, render(read_tree(home), facts, timed=case.timed))


def run(command: Callable[..., list[str]], cases: list[Case], root: Path, recorded: Path) -> int:
    """Run every case under the root, and the command on what it wrote; the exit code."""
    spark = start_spark(root)
    failed = False
    for case in cases:
        started = time.monotonic()
        home = root / case.name
        differences = command(case, home, run_case(spark, case, home), recorded)
        failed = failed or bool(differences)
        seconds = time.monotonic() - started
        verdict = "DIFFERS" if differences else "ok"
        print(f"{verdict:8}{case.name} ({seconds:.1f} s)", *differences, sep="\n", flush=True)
    spark.stop()
    return 1 if failed else 0


def find_strays(recorded: Path) -> list[str]:
    """Recorded archives and facts that no case of the running Spark would write."""
    known = {case.name for case in CASES if case.since <= VERSION}
    archives = {path.name.partition(".")[0] for path in recorded.glob("*.tar.gz")}
    return sorted((archives | set(read_expected(recorded))) - known)


def choose_cases(only: list[str]) -> list[Case]:
    """The cases that the running Spark can write, or those of them that are named."""
    supported = [case for case in CASES if case.since <= VERSION]
    unknown = set(only) - {case.name for case in supported}
    if unknown:
        raise SystemExit(f"no such case on Spark {pyspark.__version__}: {', '.join(sorted(unknown))}")
    return [case for case in supported if not only or case.name in only]


def main() -> int:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--root", type=Path, help="where Spark writes: /golden, or to verify a new directory")
    parser.add_argument("command", choices=["write", "verify"])
    parser.add_argument("--recorded", type=Path, help="where the recorded archives are, if not beside this script")
    parser.add_argument("--only", nargs="+", default=[], metavar="CASE")
    options = parser.parse_args()
    cases = choose_cases(options.only)
    recorded = options.recorded or HERE / f"spark-{pyspark.__version__}"
    if options.command == "write":
        return run(write, cases, options.root or NEUTRAL_ROOT, recorded)
    strays = find_strays(recorded)
    if strays:
        print(f"no case writes these: {', '.join(strays)}")
    with tempfile.TemporaryDirectory(prefix="golden-") as scratch:
        return run(verify, cases, options.root or Path(scratch), recorded) or int(bool(strays))


if __name__ == "__main__":
    sys.exit(main())
