"""A fleet that goes on while it is read, its stream into a history, and what has to be in there: each commit once.

``python -m tests.spark.pipeline_run ROOT`` runs the stream once in a process of its own, to be killed.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from airflow_provider_ckpt.spark.read_back import history
from tests.batches.fleet_story import FleetStory
from tests.spark.history_faults import FaultyHistory
from tests.spark_lab import activate, start_spark

NAMES = ("orders", "clicks", "views", "logins", "deep/down/payments")
#: A commit: location, batch, and when, which is another time for each.
Commit = tuple[str, int, int]


class Pipeline:
    """A fleet below ``fleet/``, what is read from it below ``table/``, and faults."""

    def __init__(self, root: Path, seed: int = 0) -> None:
        self.root, self.faults = root, root / "faults"
        self.faults.mkdir(parents=True, exist_ok=True)
        self.chance = random.Random(seed)
        self.story = FleetStory(root / "fleet")
        #: What was there when a run began that completed.
        self.owed: set[Commit] = set()
        self.committed: set[Commit] = set()
        self.happened: Counter[str] = Counter()

    def goes_on(self, steps: int) -> None:
        """Something happens to the fleet: commits, rollbacks, purges."""
        for _ in range(steps):
            what, _ = self.story.happens(self.chance, NAMES)
            self.happened[what] += 1
            self.committed |= self.there()

    def there(self) -> set[Commit]:
        """Every commit that the logs have now."""
        found = set()
        for name, log in self.story.logs.items():
            directory = Path(self.story.location(name)) / "commits"
            times = ((batch, (directory / str(batch)).stat().st_mtime) for batch in log)
            found |= {(self.story.location(name), batch, round(time * 1000)) for batch, time in times}
        return found

    def traces(self) -> int:
        """How many files the stream has left that are there to stay: offsets, data, manifests, commits."""
        places = ("checkpoint/offsets", "table/data", "table/epochs", "checkpoint/commits")
        return sum(1 for place in places for path in (self.root / place).rglob("[!.]*") if path.is_file())

    def run(self, session: Any, during: Any = None) -> str | None:
        """Run the stream until it has what was there. Returns what it failed with, or None.

        ``during`` is called with the query when that has been started.
        """
        owed = self.there()
        query = start(session, self.root)
        try:
            if during is not None:
                during(query)
            assert query.awaitTermination(300), "the query did not finish in 300 s"
        except AssertionError:
            raise
        except Exception as error:
            return str(error)
        self.owed |= owed
        return None

    def check(self, session: Any) -> int:
        """Each commit that was owed is one row; no commit is two. Returns how many rows there are."""
        rows = history(session, str(self.root / "table"))
        rows = rows.selectExpr(
            "location", "batch_id", "unix_millis(committed_at) AS at", "timeline", "source_id", "problem"
        )
        found = rows.collect()
        keys = Counter((row.location, row.timeline, row.batch_id, row.source_id) for row in found)
        assert {key: count for key, count in keys.items() if count > 1} == {}, "a row is there twice"
        commits = Counter((row.location, row.batch_id, row.at) for row in found if row.problem is None)
        assert {commit: count for commit, count in commits.items() if count > 1} == {}, "a commit is there twice"
        assert self.owed <= commits.keys(), f"missing: {sorted(self.owed - commits.keys())[:5]}"
        assert commits.keys() <= self.committed, "a commit is there that never was"
        return len(found)


def start(session: Any, root: Path) -> Any:
    """Start the stream; it ends when it has all that is there."""
    from tests.spark.pipeline_faults import FaultyCheckpoints

    for source in (FaultyCheckpoints, FaultyHistory):
        session.dataSource.register(source)
    reader = activate(session).readStream.format("faulty_checkpoint").option("storage.faults", str(root / "faults"))
    reader = reader.option("failOnDataLoss", "false").option("maxBatchesPerTrigger", 12)
    writer = (
        reader.load(str(root / "fleet")).writeStream.format("faulty_history").option("faults", str(root / "faults"))
    )
    writer = writer.option("checkpointLocation", str(root / "checkpoint")).trigger(availableNow=True)
    return writer.start(str(root / "table"))


if __name__ == "__main__":
    start(start_spark(), Path(sys.argv[1])).awaitTermination()
