"""A query of real Spark into files whose driver is killed, and the repair of its log: python -m tests.changes.repair.killed_drivers.

Drivers are killed at random moments, so that attempts leave data files that no entry names. Then entries of the log are
deleted at random, it is repaired, and readers must get the rows that they got before. In every second damage a task of a
driver that was killed goes on: a file of one of its tasks is written later. A repair that says ``exact`` then must be.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.repair.make import make_repair
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.storage.store import Store
from tests.progress import Progress

DRIVER = Path(__file__).with_name("killed_driver.py")
ROWS, TASKS = 12, 4
Rows = Counter[tuple[str, int]]


class Table:
    """The query, its input and what readers get."""

    def __init__(self, home: Path) -> None:
        self.home, self.checkpoint, self.output = home, home / "checkpoint", home / "out"
        self.log = self.output / "_spark_metadata"
        (home / "input").mkdir(parents=True)

    def write(self, numbers: range) -> None:
        """Input files; each is the input of one batch."""
        for number in numbers:
            path = self.home / "input" / f"f{number:03}.json"
            rows = [{"key": f"k{at}", "value": ROWS * number + at} for at in range(ROWS)]
            path.write_text("\n".join(map(json.dumps, rows)))
            os.utime(path, (1_700_000_000 + number,) * 2)

    def start(self) -> subprocess.Popen[bytes]:
        """A driver that works until the input is used up."""
        words = [sys.executable, str(DRIVER), str(self.home), str(TASKS)]
        return subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, cwd=self.home
        )

    def planned(self) -> int:
        return max((int(path.name) for path in (self.checkpoint / "offsets").glob("[0-9]*")), default=-1)

    def files(self) -> list[Path]:
        return sorted(self.output.glob("part-*.parquet"))

    def named(self) -> dict[int, list[str]]:
        """The files that readers get, by the number of the entry that names them, as Spark reads the log."""
        compacted = max((int(path.name[:-8]) for path in self.log.glob("[0-9]*.compact")), default=-1)
        paths = {compacted: self.log / f"{compacted}.compact"} if compacted >= 0 else {}
        singles = {int(path.name): path for path in self.log.glob("[0-9]*") if path.name.isdecimal()}
        paths |= {batch: path for batch, path in singles.items() if batch > compacted}
        return {
            batch: [json.loads(line)["path"] for line in path.read_text().split("\n")[1:]]
            for batch, path in paths.items()
        }

    def rows(self) -> Rows:
        """What readers get."""
        found: Rows = Counter()
        for paths in self.named().values():
            for path in paths:
                found += rows_of(path.removeprefix("file://"))
        return found


@cache
def rows_of(path: str) -> Rows:
    from pyarrow import parquet

    return Counter((row["key"], row["value"]) for row in parquet.read_table(path).to_pylist())


def run_and_kill(table: Table, random: Random, kills: int) -> None:
    """Kill drivers, each after it has planned a batch; then let one come to the end of the input."""
    for number in range(kills):
        before, driver = table.planned(), table.start()
        wanted = before + random.choice((1, 1, 2, 3))
        while driver.poll() is None and table.planned() < wanted:
            time.sleep(0.01)
        time.sleep(random.uniform(0, 1.2))
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
        print(f"kill {number}: batch {table.planned()} planned, {len(table.files())} data files", flush=True)
    assert table.start().wait(600) == 0


class Damages:
    """Damages of the log of one table, each mended and judged."""

    def __init__(self, table: Table, random: Random) -> None:
        self.table, self.random = table, random
        self.whole = table.home / "log-as-it-was"
        shutil.copytree(table.log, self.whole)
        self.before = table.rows()
        self.outcomes: Counter[str] = Counter()
        self.orphans = self._orphans()

    def _orphans(self) -> list[Path]:
        """Whole files that no entry names: of attempts that were killed."""
        compacts = [path for path in self.whole.glob("[0-9]*") if not path.name.startswith(".")]
        text = "\n".join(path.read_text() for path in compacts)
        return [path for path in self.table.files() if path.name not in text and path.read_bytes()[-4:] == b"PAR1"]

    def damage(self, number: int) -> str | None:
        """Delete entries, repair, compare; what is wrong, or None."""
        zombie = self._zombie() if number % 2 and self.orphans else None
        names = sorted(path.name for path in self.table.log.glob("[0-9]*"))
        lost = names if self.random.random() < 0.1 else self.random.sample(names, self.random.randrange(1, 5))
        for name in lost:
            (self.table.log / name).unlink()
            (self.table.log / f".{name}.crc").unlink(missing_ok=True)
        try:
            return self._repaired(f"without {' '.join(lost)}{f', and {zombie.name}' if zombie else ''}", zombie)
        finally:
            shutil.rmtree(self.table.log)
            shutil.copytree(self.whole, self.table.log)
            shutil.rmtree(self.table.home / "_ckpt_undo", ignore_errors=True)
            if zombie:
                zombie.unlink()

    def _zombie(self) -> Path:
        """A task of an attempt that was killed writes its file up to half a minute after another one of it."""
        orphan = self.random.choice(self.orphans)
        at = orphan.stat().st_mtime + self.random.choice((0.5, 2, 5, 10, 15, 20, 30)) * self.random.random()
        task = self.random.randrange(TASKS + 1)
        zombie = (
            self.table.output
            / f"part-{task:05}-{uuid.UUID(int=self.random.getrandbits(128), version=4)}-c000.snappy.parquet"
        )
        shutil.copy(orphan, zombie)
        os.utime(zombie, (at, at))
        return zombie

    def _repaired(self, what: str, zombie: Path | None) -> str | None:
        table = self.table
        stores = Stores(Store.open(str(table.checkpoint)), Store.open(str(table.output)))
        try:
            plan = make_repair(stores, Sink("file", str(table.output)))
        except PlanError as error:
            self.outcomes["refused"] += 1
            return None if zombie else f"{what}: refused ({error.message})"
        accepted = ("skipped", "unknown")
        apply(plan, stores, query_is_stopped=True, quiet_s=0, accept_sink=accepted)
        is_same = table.rows() == self.before
        kind = "beside a task that went on" if zombie else "after kills"
        self.outcomes[f"{kind}, {plan.sink_effect}, rows {'as before' if is_same else 'other'}"] += 1
        if is_same or (zombie and plan.sink_effect != "exact"):
            return None
        return f"{what}: {plan.sink_effect}, and readers get other rows: {list(plan.notes)}"


def main() -> int:
    """Run, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--damages", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random, began, wrong = Random(options.seed), time.monotonic(), 0
    os.sync = lambda: None  # no damage is a power cut
    with tempfile.TemporaryDirectory(prefix="killed-") as scratch:
        table = Table(Path(scratch))
        table.write(range(34))
        run_and_kill(table, random, options.kills)
        damages = Damages(table, random)
        assert damages.before == Counter((f"k{at}", ROWS * number + at) for number in range(34) for at in range(ROWS))
        print(f"{len(table.files())} data files, {len(damages.orphans)} whole ones of no entry", flush=True)
        progress = Progress(options.damages, "damages")
        for number in range(options.damages):
            progress.done(number)
            if problem := damages.damage(number):
                wrong += 1
                print(problem, flush=True)
        table.write(range(34, 46))
        assert table.start().wait(600) == 0, "it goes on over the next compaction"
        assert sum(table.rows().values()) == 46 * ROWS
    print(f"{options.kills} kills, {options.damages} damages in {time.monotonic() - began:.0f} s, {wrong} wrong")
    for outcome, times in sorted(damages.outcomes.items()):
        print(f"  {times} {outcome}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
