"""A fleet of queries that commit, are rolled back, purged and begun anew, on a clock of its own, without Spark."""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FIRST_MS, FakeQuery

#: So long after the one before everything happens.
STEP_MS = 60_000


@dataclass
class FleetStory:
    """Checkpoints below one root, each commit at a time of its own."""

    root: Path
    now_ms: int = FIRST_MS
    logs: dict[str, list[int]] = field(default_factory=dict)

    def location(self, name: str) -> str:
        return str(self.root / name)

    def commit(self, name: str, count: int = 1) -> None:
        """Commit some more batches, of a new query when there is none."""
        log = self.logs.setdefault(name, [])
        query = FakeQuery(Store.open(self.location(name)))
        for _ in range(count):
            batch_id = log[-1] + 1 if log else 0
            self.now_ms += STEP_MS
            query.files = {}
            query.commit(batch_id)
            at_s = self.now_ms / 1000
            os.utime(Path(self.location(name)) / "commits" / str(batch_id), (at_s, at_s))
            log.append(batch_id)

    def plan(self, name: str) -> None:
        """Plan a batch that is not committed."""
        FakeQuery(Store.open(self.location(name))).plan(self.logs[name][-1] + 1)

    def roll_back(self, name: str, to_batch: int) -> None:
        """Drop every batch after one."""
        self._remove(name, [batch for batch in self.logs[name] if batch > to_batch])

    def purge(self, name: str, keep: int) -> None:
        """Drop all but the newest batches, as Spark does."""
        self._remove(name, self.logs[name][:-keep])

    def start_anew(self, name: str) -> None:
        """Delete the checkpoint, and let another query begin there."""
        shutil.rmtree(self.location(name))
        self.logs[name] = []
        self.commit(name)

    def happens(self, chance: random.Random, names: tuple[str, ...]) -> tuple[str, str]:
        """Something happens to one of them: what, and to which."""
        name = chance.choice(names)
        if not self.logs.get(name):
            self.commit(name, 2)
            return "begun", name
        what = chance.choice(("committed",) * 6 + ("rolled back", "purged"))
        if what == "rolled back" and len(self.logs[name]) < 3:
            what = "committed"
        if what == "committed":
            self.commit(name, chance.randint(1, 4))
        elif what == "rolled back":
            self.roll_back(name, self.logs[name][-chance.randint(2, len(self.logs[name]))])
            self.commit(name)
        else:
            self.purge(name, chance.randint(2, 5))
        return what, name

    def _remove(self, name: str, batches: list[int]) -> None:
        for batch in batches:
            for log in ("commits", "offsets"):
                (Path(self.location(name)) / log / str(batch)).unlink(missing_ok=True)
            self.logs[name].remove(batch)
