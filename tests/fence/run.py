"""300 fences against live queries of real Spark: ``python -m tests.fence.run [--fences 300] [--seed 1] [--a-round 20]``.

It prints what came of them, and ends with 1 when a row is missing or doubled, or a query went on behind a fence.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.fence.live import Fences, s3_stores


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fences", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--a-round", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no further round after so many")
    asked = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as root, s3_stores() as (s3, url):
        fences = Fences(Path(root), s3, url, asked.seed)
        while fences.number < asked.fences and time.monotonic() - began < asked.minutes * 60:
            many = min(asked.a_round, asked.fences - fences.number)
            fences.round([fences.case() for _ in range(many)])
            minutes = (time.monotonic() - began) / 60
            print(f"{fences.number} fences after {minutes:.1f} min, {len(fences.wrong)} wrong", flush=True)
        fences.finish()
    for line in fences.summary():
        print(line)
    for problem in fences.wrong:
        print(f"WRONG {problem}")
    minutes, load = (time.monotonic() - began) / 60, os.getloadavg()[2]
    print(
        f"{len(fences.done)} fences, {len(fences.wrong)} wrong, {minutes:.1f} min, seed {asked.seed}, load {load:.1f}"
    )
    return 1 if fences.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
