"""Random queries of real Spark whose sources are changed: ``python -m tests.changes.sources.run``.

Of each pair of a query and a change: the query runs and stops, some with a batch in flight; the change is planned,
killed after a step and completed; Spark is started after every step; the next query runs twice; and the rows are
compared with those that are right. It prints the figures, and fails when one pair is not as it should be.
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
from typing import Any

from tests.changes.sources.cases import Case, draw
from tests.changes.sources.real_query import REPOSITORY, RealQuery, Shown, Spark
from tests.progress import Progress


class Figures:
    """What all pairs have shown."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.failed: list[str] = []

    def add(self, case: Case, shown: Shown) -> None:
        """One more pair."""
        self.counts["prefixes started"] += shown.prefixes
        self.counts[f"{case.kind}"] += 1
        self.counts["with topics"] += bool(case.topics & set(range(len(case.read))))
        self.counts["with a batch in flight"] += bool(case.fails)
        self.counts["names given"] += case.named == (False, True)
        self.counts["names taken away"] += case.named == (True, False)
        self.counts["killed and completed"] += 0 < shown.killed_at < shown.steps
        for word in ("=new", "--drop"):
            self.counts[{"=new": "with a source that is new", "--drop": "with a source dropped"}[word]] += any(
                word in each for each in case.words
            )
        olds = [each.partition("=")[2] for each in case.words if "=" in each and not each.endswith("=new")]
        self.counts["with a position copied"] += len(olds) > len(set(olds))
        self.counts["reordered"] += case.named == (False, False) and olds != sorted(olds)

    def lines(self) -> list[str]:
        """To print."""
        return [f"  {count:5} {what}" for what, count in sorted(self.counts.items())] + [
            f"  {count:5} refused: {why}" for why, count in self.reasons.most_common()
        ]


def run(version: str, pairs: int, seed: int, *, every: int = 1, only: int | None = None) -> Figures:
    """Show so many pairs in a Spark; ``every`` is which prefixes are started, ``only`` one number alone."""
    figures = Figures()
    root = Path(tempfile.mkdtemp(prefix="source-changes-"))
    late = version != "3.5"
    broker: Any = None
    jars = ""
    if late:
        from tests.kafka_lab import Broker, connector_jars

        (root / "kafka").mkdir()
        broker, jars = Broker(root / "kafka"), connector_jars()
    python = sys.executable if late else str(REPOSITORY / ".venv-spark-3.5.9/bin/python")
    spark = Spark(python, jars=jars, log=root / "driver.log")
    try:
        number, done, began = 0 if only is None else only, 0, time.monotonic()
        progress = Progress(pairs, "pairs")
        while done < pairs:
            case = draw(seed, number, names=late, kafka=late)
            home = root / f"case{number}"
            home.mkdir()
            query = RealQuery(case, spark, home, broker, f"seed{seed}-")
            try:
                shown = query.show(lambda steps: range(1, steps, every))
            except Exception:  # whatever goes wrong with a pair is a failure of it, and the other pairs go on
                figures.failed.append(f"--seed {seed} --only {number}: {case}\n{traceback.format_exc()}")
                print(f"FAILED {figures.failed[-1]}", flush=True)
                done += 1
            else:
                if shown.refused:
                    figures.reasons[reason(shown.refused)] += 1
                else:
                    done += 1
                    figures.add(case, shown)
            shutil.rmtree(home)
            progress.done(done)
            number += 1
            if only is not None:
                break
    finally:
        if broker is not None:
            broker.stop()
        spark.stop()
        shutil.rmtree(root)
    print(
        f"Spark {spark.version}, seed {seed}: {done} pairs, {len(figures.failed)} failed, {number} drawn, "
        f"{time.monotonic() - began:.0f} s"
    )
    print("\n".join(figures.lines()), flush=True)
    return figures


def reason(text: str) -> str:
    """A refusal without what is of one case."""
    return text.partition(", and ")[2][:110] or text[:110]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--spark", choices=("4.3", "3.5"), default="4.3")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=1, help="start each so many prefixes")
    parser.add_argument("--only", type=int, help="the pair of this number alone")
    said = parser.parse_args(arguments)
    pairs = 1 if said.only is not None else said.pairs
    return 1 if run(said.spark, pairs, said.seed, every=said.every, only=said.only).failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
