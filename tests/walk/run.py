"""Random walks of changes over queries of real Spark: ``python -m tests.walk.run --seconds 3600``.

It prints what was done and what was wrong, and fails when one walk has shown something wrong, or when enough walks have
left out a change, a way, a shape, a state store, a source or a sink.
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import count
from pathlib import Path
from random import Random

from tests.changes.sources.real_query import Spark
from tests.kafka_lab import Broker, connector_jars
from tests.walk.changes import go, home_of
from tests.walk.tally import Tally
from tests.walk.walk import Walk

SCRIPT = Path(__file__).parent / "spark_process.py"
#: After so many walks a new process of Spark is started, so that sessions and state stores do not pile up.
WALKS_A_SPARK = 15


def walk_on(
    numbers: Iterable[int], seed: int, until: float, root: Path, bootstrap: str, changes: int, keep: bool
) -> Tally:
    """Walk one walk after the other until a time of ``time.time``; what they have done.

    A process of its own does it, because it forks the commands, which must not meet threads of Kafka's clients.
    """
    tally, spark = Tally(), new_spark()
    for number in numbers:
        if time.time() >= until:
            break
        if tally.walks and tally.walks % WALKS_A_SPARK == 0:
            spark.stop()
            spark = new_spark()
        home, began = home_of(root, number), time.time()
        walk = Walk(number, Random(f"{seed}/{number}"), spark, home, bootstrap, tally)
        try:
            go(walk, changes)
        except Exception:  # whatever is wrong with a walk is told, and the other walks go on
            steps = "\n    ".join(walk.log)
            tally.wrong.append(f"--seed {seed} --only {number}\n    {steps}\n{traceback.format_exc()}")
            print(f"WRONG {tally.wrong[-1]}", flush=True)
            spark.stop()  # it may be in the middle of a query
            spark = new_spark()
        if not keep:
            shutil.rmtree(home)
        tally.walks += 1
        print(f"walk {number} ended after {time.time() - began:.0f} s", flush=True)
    spark.stop()
    return tally


def new_spark() -> Spark:
    """A process of Spark that has Kafka's connector."""
    return Spark(jars=connector_jars(), script=SCRIPT)


def run(
    seconds: float, seed: int, *, workers: int = 2, only: int | None = None, changes: int = 8, keep: bool = False
) -> Tally:
    """Walk for so long, in so many processes at once; what was done, which is printed too."""
    root, began = Path(tempfile.mkdtemp(prefix="walk-")).resolve(), time.time()
    whole = Tally()
    broker = Broker(root)
    numbers = [count(each, workers) for each in range(workers)] if only is None else [(only,)]
    try:
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
            tasks = [
                pool.submit(walk_on, each, seed, began + seconds, root, broker.bootstrap, changes, keep)
                for each in numbers
            ]
            for task in as_completed(tasks):
                whole.add(task.result())
    finally:
        broker.stop()
        if not keep:
            shutil.rmtree(root)
    took = time.time() - began
    print("\n".join(f"  {number:5} {what}" for what, number in sorted((whole.notes + whole.drawn).items())))
    print("seconds waited:", ", ".join(f"{what} {seconds}" for what, seconds in whole.seconds.most_common()))
    print(whole.table())
    print("\n".join(f"HOLE {hole}" for hole in whole.holes()))
    pace = 3600 * whole.walks / took
    print(
        f"seed {seed}: {whole.walks} walks in {took:.0f} s ({pace:.0f} an hour), {len(whole.wrong)} wrong", flush=True
    )
    return whole


def main(arguments: Sequence[str]) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2, help="walks at once")
    parser.add_argument("--changes", type=int, default=8, help="of each walk")
    parser.add_argument("--only", type=int, help="the walk of this number alone")
    parser.add_argument("--keep", action="store_true", help="keep the files")
    said = parser.parse_args(arguments)
    done = run(
        said.seconds, said.seed, workers=said.workers, only=said.only, changes=said.changes, keep=said.keep
    )  # fmt: skip
    return 1 if done.wrong or done.holes() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
