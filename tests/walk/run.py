"""Random walks of changes over queries of real Spark: ``python -m tests.walk.run --seconds 3600``.

It prints what was done and what was wrong, and fails when one walk has shown something wrong.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.source_changes.real_query import Spark
from tests.walk.changes import go, home_of
from tests.walk.walk import Walk

SCRIPT = Path(__file__).parent / "spark_process.py"
#: After so many walks a new process of Spark is started, so that sessions and state stores do not pile up.
WALKS_A_SPARK = 15


def run(seconds: float, seed: int, *, only: int | None = None, changes: int = 8, keep: bool = False) -> list[str]:
    """Walk for so long; what was wrong."""
    root, began = Path(tempfile.mkdtemp(prefix="walk-")).resolve(), time.monotonic()
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    number = first = 0 if only is None else only
    spark = Spark(script=SCRIPT)
    try:
        while time.monotonic() - began < seconds:
            if number > first and number % WALKS_A_SPARK == 0:
                spark.stop()
                spark = Spark(script=SCRIPT)
            home = home_of(root, number)
            walk = Walk(Random(f"{seed}/{number}"), spark, home, counts)
            try:
                go(walk, changes)
            except Exception:  # whatever is wrong with a walk is told, and the other walks go on
                steps = "\n    ".join(walk.log)
                wrong.append(f"--seed {seed} --only {number}\n    {steps}\n{traceback.format_exc()}")
                print(f"WRONG {wrong[-1]}", flush=True)
            if not keep:
                shutil.rmtree(home)
            number += 1
            if only is not None:
                break
            if number % 5 == 0:
                print(f"{number} walks in {time.monotonic() - began:.0f} s", flush=True)
    finally:
        spark.stop()
        if not keep:
            shutil.rmtree(root)
    print(f"seed {seed}: {number - first} walks in {time.monotonic() - began:.0f} s, {len(wrong)} wrong")
    print("\n".join(f"  {count:5} {what}" for what, count in sorted(counts.items())), flush=True)
    return wrong


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--changes", type=int, default=8, help="of each walk")
    parser.add_argument("--only", type=int, help="the walk of this number alone")
    parser.add_argument("--keep", action="store_true", help="keep the files")
    said = parser.parse_args(arguments)
    return 1 if run(said.seconds, said.seed, only=said.only, changes=said.changes, keep=said.keep) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
