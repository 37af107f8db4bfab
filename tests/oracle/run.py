"""Ask real Spark about the corpus.

python -m tests.oracle.run record [--only TEXT] [--new]     write outcomes-<spark version>.json
python -m tests.oracle.run verify [--every N]               compare with what is recorded
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import pyspark

from .case import Case
from .corpus import CASES
from .restart import SPARK, Oracle

HERE = Path(__file__).resolve().parent


def outcomes_file() -> Path:
    """Where the outcomes of the running Spark are recorded."""
    return HERE / f"outcomes-{'.'.join(map(str, SPARK))}.json"


def choose(only: str, every: int) -> list[Case]:
    """Cases that this Spark can run: their base is not of a later one."""
    cases = [case for case in CASES.values() if only in case.name and case.runs_on(SPARK)]
    return cases[::every]


def judged(outcome: dict[str, object]) -> dict[str, object]:
    """An outcome without the message, which is for people and may name the one or the other file."""
    return {key: value for key, value in outcome.items() if key != "message"}


def start_twice() -> int:
    """Print what a first and a second start do, a line for each case that is named."""
    with tempfile.TemporaryDirectory(prefix="oracle-") as scratch:
        oracle = Oracle(Path(scratch))
        for name in sys.argv[1:]:
            first = oracle.ask(CASES[name])
            then = oracle.ask_again()
            print(json.dumps([name, first.error, first.batches, then.error, then.batches]))
        oracle.spark.stop()
    return 0


def main() -> int:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("command", choices=["record", "verify"])
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name holds this")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each Nth case")
    parser.add_argument("--new", action="store_true", help="cases that are not recorded yet")
    options = parser.parse_args()
    path = outcomes_file()
    recorded = json.loads(path.read_text()) if path.exists() else {}
    cases = [case for case in choose(options.only, options.every) if not (options.new and case.name in recorded)]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="oracle-") as scratch:
        oracle = Oracle(Path(scratch))
        for number, case in enumerate(cases, start=1):
            started = time.monotonic()
            outcome = asdict(oracle.ask(case))
            differs = options.command == "verify" and judged(outcome) != judged(recorded.get(case.name, {}))
            failed += differs
            if options.command == "record":
                recorded[case.name] = outcome
            verdict = "DIFFERS " if differs else ""
            print(
                f"{number}/{len(cases)} {verdict}{case.name}: {outcome['error']} {outcome['batches']} ({time.monotonic() - started:.1f} s)",
                flush=True,
            )
            if differs:
                print(f"  recorded {recorded.get(case.name)}\n  now      {outcome}")
        oracle.spark.stop()
    if options.command == "record":
        kept = {name: recorded[name] for name in CASES if name in recorded}
        lines = (f"{json.dumps(name)}: {json.dumps(outcome)}" for name, outcome in kept.items())
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"Spark {pyspark.__version__}: {len(cases)} cases, {failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
