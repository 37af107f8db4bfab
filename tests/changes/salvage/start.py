"""Torn checkpoints of real queries, salvaged and started by real Spark: python -m tests.changes.salvage.start [--count N].

The result after the start is that of one clean run: the sums of a stateful query, and of a stateless one each row once,
counting the rows of the batches that the plan keeps. Every tenth salvage is stopped on its way first: Spark refuses.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.changes.salvage.make import make_salvage
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.storage.store import Store
from tests.changes.salvage.brute_force import Original, Torn
from tests.changes.salvage.run import WORD, contents
from tests.changes.salvage.tears import Tearing
from tests.spark_lab import STATE_CONFS, Lab, Run, rows_of, settle, start_spark, truth
from tests.stopping import stop_after

#: Batches of each query before it is torn, and the batch that a backup is of.
BATCHES, BACKED_UP = 7, 4


class Originals:
    """One clean run of a query for each kind of state."""

    def __init__(self, spark: Any, root: Path) -> None:
        self._spark, self._root = spark, root
        self._labs: dict[str, tuple[Lab, Run]] = {}

    def __getitem__(self, config: str) -> tuple[Lab, Run]:
        if config not in self._labs:
            lab = Lab(self._spark, self._root / config, config)
            lab.write(range(BATCHES))
            self._labs[config] = lab, lab.run(pause_s=0.2)
            settle(lab.checkpoint)
        return self._labs[config]


class Started:
    """A query that is torn, salvaged and started."""

    def __init__(self, originals: Originals, root: Path, seed: int) -> None:
        self.random, self.seed = Random(seed), seed
        self.config = self.random.choice(list(STATE_CONFS))
        base, self.clean = originals[self.config]
        self.lab = base.copied(root)
        self.stores = Stores(Store.open(str(self.lab.checkpoint)))
        backup = self._backed_up(root) if self.random.random() < 0.25 else None
        original = Original(contents(self.lab.checkpoint))
        self.did = Tearing(self.lab.checkpoint, self.random).tear()
        self.best = Torn(self.lab.checkpoint, original, backup).best()
        self.has_backup = backup is not None

    def __str__(self) -> str:
        return f"seed {self.seed}, {self.config}{' with a backup' if self.has_backup else ''}: {'; '.join(self.did)}"

    def _backed_up(self, root: Path) -> tuple[int, frozenset[str]]:
        apply(make_rollback(self.stores, BACKED_UP), self.stores, **WORD)
        taken = take_backup(self.stores.checkpoint, Store.open(str(root / "backups")), threads=1)
        apply(make_undo(self.stores), self.stores, **WORD)
        shutil.rmtree(root / "_ckpt_undo")  # which knows the query id
        self.stores = Stores(self.stores.checkpoint, backups=Store.open(str(root / "backups")))
        return BACKED_UP, frozenset(item.name for item in taken.objects if not item.name.endswith(".crc"))

    def plan(self) -> Plan | None:
        try:
            return make_salvage(self.stores)
        except BatchNotRestorableError:
            return None

    def problem_on_the_way(self, plan: Plan) -> str | None:
        """Stop the salvage after some step and start: Spark must refuse. It is completed afterwards."""
        with suppress(KeyboardInterrupt):
            apply(plan, self.stores, on_step=stop_after(self.random.randrange(1, len(plan.actions))), **WORD)
        try:
            self.lab.run()
        except Exception as error:  # whatever Spark raises is the answer
            if "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION" in str(error) or "MISSING_METADATA" in str(error):
                return None
            return f"stopped on its way, Spark said {str(error)[:300]}"
        return "stopped on its way, Spark started"

    def problem(self, plan: Plan) -> str | None:
        """Start on what the salvage has left, with one more input file, and compare."""
        self.lab.write([BATCHES])
        run = self.lab.run()
        if self.config != "stateless":
            wanted = truth(dict.fromkeys(range(BATCHES + 1), "A"))
            return None if run.result == wanted else f"the sums are {run.result}, not {wanted}"
        kept = [row for batch, rows in self.clean.batches.items() if batch <= plan.batch_id for row in rows]
        got = Counter(kept) + Counter(row for rows in run.batches.values() for row in rows)
        rows = Counter(row for number in range(BATCHES + 1) for row in rows_of(number))
        return None if got == rows else f"the rows are {got}, not {rows}"


def start(originals: Originals, root: Path, seed: int) -> tuple[str, str | None]:
    """Tear one query, salvage it, start it; what became of it, and what is wrong."""
    torn = Started(originals, root, seed)
    plan = torn.plan()
    found = plan.batch_id if plan else None
    if found != torn.best:
        return "wrong", f"{torn}\n  brute force {torn.best}, salvage {found} {list(plan.notes) if plan else ''}"
    if plan is None:
        return "nothing to save", None
    if plan.actions and not seed % 10 and (problem := torn.problem_on_the_way(plan)):
        return "wrong", f"{torn}\n  {problem}"
    if plan.actions:
        apply(make_salvage(torn.stores), torn.stores, **WORD)
    problem = torn.problem(plan)
    return ("wrong", f"{torn}\n  to batch {plan.batch_id}: {problem}") if problem else ("started right", None)


def main() -> int:
    """Run until so many were started, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    outcomes: Counter[str] = Counter()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="starts-") as scratch:
        os.sync = lambda: None  # no tear is a power cut
        spark = start_spark()
        originals = Originals(spark, Path(scratch) / "clean")
        seed = options.seed
        while outcomes["started right"] + outcomes["wrong"] + outcomes["raised"] < options.count:
            home = Path(scratch) / f"torn-{seed}"  # the state maintenance of a query goes on in its place
            try:
                outcome, problem = start(originals, home, seed)
            except Exception as error:  # what is raised is a result as well, named by its seed
                outcome, problem = "raised", f"seed {seed}: {type(error).__name__}: {str(error)[:800]}"
            outcomes[outcome] += 1
            print(f"seed {seed}: {outcome}" + (f"\n{problem}" if problem else ""), flush=True)
            shutil.rmtree(home, ignore_errors=True)
            seed += 1
        spark.stop()
    print(f"{sum(outcomes.values())} torn queries in {time.monotonic() - began:.0f} s: {dict(outcomes)}")
    return 1 if outcomes["wrong"] or outcomes["raised"] else 0


if __name__ == "__main__":
    sys.exit(main())
