"""Tear checkpoints at random, and hold the salvage against brute force: python -m tests.changes.salvage.run [--count N] [--seed S]."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.changes.salvage.make import make_salvage
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.storage.store import Store
from tests.changes.salvage.brute_force import Original, Torn
from tests.changes.salvage.tears import Tearing, write_all
from tests.goldens import ARCHIVES, packed
from tests.kafka_checkpoint import commit_batch, write_initial_offset
from tests.progress import Progress

#: State of each kind, and none; file sources and others; logs of each version; several stores a partition.
CASES = (
    "4.3.0/agg-hdfs",
    "4.3.0/agg-rocksdb",
    "4.3.0/agg-rocksdb-changelog",
    "4.3.0/agg-rocksdb-v2",
    "4.3.0/agg-rocksdb-changelog-v2",
    "4.3.0/agg-update-hdfs",
    "4.3.0/agg-update-rocksdb-changelog-v2",
    "4.3.0/drop-duplicates",
    "4.3.0/file-to-parquet-12",
    "4.3.0/file-to-parquet-5",
    "4.3.0/join-hdfs",
    "4.3.0/join-rocksdb-v2",
    "4.3.0/named-sources",
    "4.3.0/offset-log-v2",
    "4.3.0/rate-micro-batch",
    "4.3.0/two-sources",
    "4.1.4/agg-rocksdb",
    "3.5.9/agg-rocksdb-changelog",
    "kafka",
)
ACCEPTED = ("duplicated", "skipped", "unknown")
WORD = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": ACCEPTED}


class Bench:
    """The originals, and a backup of each at an earlier batch; made once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._files: dict[str, dict[str, tuple[bytes, float]]] = {}
        self._backups: dict[str, tuple[Path, int, frozenset[str]]] = {}

    def files(self, case: str) -> dict[str, tuple[bytes, float]]:
        """Content and time of each file of a checkpoint."""
        if case not in self._files:
            self._files[case] = (
                self._kafka()
                if case == "kafka"
                else {
                    name.removeprefix("checkpoint/"): (data, mtime)
                    for name, data, mtime in packed(ARCHIVES[case])
                    if data is not None and name.startswith("checkpoint/")
                }
            )
        return self._files[case]

    def _kafka(self) -> dict[str, tuple[bytes, float]]:
        checkpoint = self.root / "kafka"
        for batch in range(7):
            commit_batch(checkpoint, batch, {"orders": {0: 10 * batch + 10, 1: 7 * batch + 3}})
        write_initial_offset(checkpoint, "0", {"orders": {0: 0, 1: 0}})
        return {
            str(path.relative_to(checkpoint)): (path.read_bytes(), path.stat().st_mtime)
            for path in checkpoint.rglob("*")
            if path.is_file()
        }

    def backup(self, case: str) -> tuple[Path, int, frozenset[str]]:
        """The root of a backup, its batch and its names."""
        if case not in self._backups:
            home = self.root / "backups" / case
            write_all(home / "checkpoint", self.files(case))
            stores = Stores(Store.open(str(home / "checkpoint")))
            newest = observe(stores.checkpoint).latest_committed or 0
            apply(make_rollback(stores, newest - 2), stores, **WORD)
            taken = take_backup(stores.checkpoint, Store.open(str(home / "root")), threads=1)
            names = frozenset(item.name for item in taken.objects if not item.name.endswith(".crc"))
            self._backups[case] = home / "root", newest - 2, names
        return self._backups[case]


def contents(root: Path) -> dict[str, bytes]:
    """Every file of a checkpoint."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


class Tear:
    """One torn checkpoint, and what is known of it."""

    def __init__(self, bench: Bench, home: Path, seed: int, cases: tuple[str, ...] = CASES) -> None:
        random = Random(seed)
        self.seed, self.case = seed, random.choice(cases)
        self.checkpoint = home / "checkpoint"
        files = bench.files(self.case)
        write_all(self.checkpoint, files)
        self.did = Tearing(self.checkpoint, random).tear()
        backup = bench.backup(self.case) if random.random() < 0.3 else None
        self.stores = Stores(Store.open(str(self.checkpoint)), backups=Store.open(str(backup[0])) if backup else None)
        original = Original({name: data for name, (data, _) in files.items()})
        self.backup = backup is not None
        self.best = Torn(self.checkpoint, original, backup[1:] if backup else None).best()

    def __str__(self) -> str:
        return f"seed {self.seed}, {self.case}{' with a backup' if self.backup else ''}: {'; '.join(self.did)}"

    def plan(self) -> Plan | None:
        """The salvage; None when it finds no batch."""
        try:
            return make_salvage(self.stores)
        except BatchNotRestorableError as error:
            self.did.append(f"[{error.message}]")
            return None

    def carry_out(self, plan: Plan) -> None:
        """Carry the plan out; nothing is left to do then, and the undo gives every byte back."""
        before = contents(self.checkpoint)
        apply(plan, self.stores, **WORD)
        again = make_salvage(self.stores)
        assert (again.batch_id, again.actions) == (plan.batch_id, ()), f"{self}: a second salvage has steps"
        apply(make_undo(self.stores), self.stores, **WORD)
        assert contents(self.checkpoint) == before, f"{self}: not undone"


def check(bench: Bench, home: Path, seed: int, *, carries_out: bool) -> tuple[str, str | None]:
    """Tear one checkpoint and compare; what became of it, and what is wrong."""
    tear = Tear(bench, home, seed)
    plan = tear.plan()
    found = plan.batch_id if plan else None
    if found != tear.best:
        notes = list(plan.notes) if plan else []
        return "wrong", f"{tear}\n  brute force {tear.best}, salvage {found} {notes}"
    if plan is None:
        return "nothing to save", None
    if plan.actions and carries_out:
        tear.carry_out(plan)
    return ("saved" if plan.actions else "nothing needed"), None


def main() -> int:
    """Run, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plans-only", action="store_true", help="do not carry the plans out")
    options = parser.parse_args()
    outcomes: Counter[str] = Counter()
    started, progress = time.monotonic(), Progress(options.count, "tears")
    os.sync = lambda: None  # no tear is a power cut, and each plan waits for the whole disk of a machine that does more
    with tempfile.TemporaryDirectory(prefix="tears-") as scratch:
        bench = Bench(Path(scratch))
        for seed in range(options.seed, options.seed + options.count):
            home = Path(scratch) / "torn"
            try:
                outcome, problem = check(bench, home, seed, carries_out=not options.plans_only)
            except Exception as error:  # what is raised is a result as well, named by its seed
                outcome, problem = "raised", f"seed {seed}: {type(error).__name__}: {error}"
            outcomes[outcome] += 1
            if problem:
                print(problem, flush=True)
            shutil.rmtree(home, ignore_errors=True)
            progress.done(outcomes.total())
    print(f"{options.count} tears in {time.monotonic() - started:.0f} s: {dict(outcomes)}")
    return 1 if outcomes["wrong"] or outcomes["raised"] else 0


if __name__ == "__main__":
    sys.exit(main())
