"""300 fences against live queries of real Spark: ``python -m tests.changes.fence.run [--fences 300] [--seed 1] [--a-round 20]``.

It prints what came of them, and ends with 1 when a row is missing or doubled, or a query went on behind a fence. With
``--tally FILE`` each round that is judged is kept there: the same command goes on where one was stopped, and adds up.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.changes.fence.live import SPARKS_OWN, Fences, s3_stores, summary


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fences", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--a-round", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no further round after so many")
    parser.add_argument("--tally", type=Path, help="where the rounds are kept that were judged")
    asked = parser.parse_args()
    began = time.monotonic()
    rounds = [json.loads(line) for line in asked.tally.read_text().splitlines()] if _is_there(asked.tally) else []
    done = sum(len(each["rows"]) for each in rounds)
    with tempfile.TemporaryDirectory() as root, s3_stores() as (s3, url):
        number, left = len(rounds), asked.fences - done
        fences = Fences(Path(root), s3, url, asked.seed * 1_000 + number)
        try:
            while left and time.monotonic() - began < asked.minutes * 60:
                many = min(asked.a_round, left)
                fences.round([fences.case() for _ in range(many)])
                left -= many
                _keep(fences, rounds, asked.tally)
                minutes = (time.monotonic() - began) / 60
                print(f"{sum(len(each['rows']) for each in rounds)} judged after {minutes:.1f} min", flush=True)
            fences.finish()
            _keep(fences, rounds, asked.tally)
        finally:
            fences.close()
    rows = [row for each in rounds for row in each["rows"]]
    wrong = [problem for each in rounds for problem in each["wrong"]]
    for line in summary(rows):
        print(line)
    print(f"stopped by Spark's own fault '{SPARKS_OWN}', and rolled back: {sum(each['own'] for each in rounds)}")
    for problem in wrong:
        print(f"WRONG {problem}")
    minutes, load = (time.monotonic() - began) / 60, os.getloadavg()[2]
    print(f"{len(rows)} fences, {len(wrong)} wrong, {minutes:.1f} min, seed {asked.seed}, load {load:.1f}")
    return 1 if wrong else 0


def _is_there(tally: Path | None) -> bool:
    return tally is not None and tally.exists()


def _keep(fences: Fences, rounds: list[dict[str, object]], tally: Path | None) -> None:
    """What was judged since the last time; a round is judged by the driver of the next one."""
    if not fences.judged:
        return
    rounds.append({"rows": fences.judged, "wrong": fences.wrong, "own": fences.sparks_own})
    fences.judged, fences.wrong, fences.sparks_own = [], [], 0
    if tally is not None:
        with tally.open("a") as file:
            file.write(json.dumps(rounds[-1]) + "\n")


if __name__ == "__main__":
    sys.exit(main())
