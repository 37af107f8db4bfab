"""A query over Kafka that is where a test says, without Spark; its log entries are in the form of Spark's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

#: Offset by topic and partition.
Offsets = Mapping[str, Mapping[str, int]]
FIRST_MS = 1_767_225_600_000
QUERY_ID = "7f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"


class KafkaQuery:
    """Writes batches, the first of which is 0."""

    def __init__(self, checkpoint: Path, query_id: str = QUERY_ID) -> None:
        self.checkpoint, self.batches = checkpoint, 0
        for directory in ("offsets", "commits"):
            (checkpoint / directory).mkdir(parents=True)
        (checkpoint / "metadata").write_text(json.dumps({"id": query_id}))

    def plan(self, *offsets: Offsets) -> None:
        """Where the next batch ends, a source after the other. It began so many milliseconds after FIRST_MS."""
        metadata = {"batchWatermarkMs": 0, "batchTimestampMs": FIRST_MS + self.batches, "conf": {}}
        lines = ["v1", *(json.dumps(item) for item in (metadata, *offsets))]
        (self.checkpoint / f"offsets/{self.batches}").write_text("\n".join(lines))

    def commit(self, *offsets: Offsets) -> None:
        """Plan the next batch and commit it."""
        self.plan(*offsets)
        (self.checkpoint / f"commits/{self.batches}").write_text('v1\n{"nextBatchWatermarkMs":0}')
        self.batches += 1
