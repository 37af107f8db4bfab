"""A live query, its fork and their outputs, as files that a test writes in milliseconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LIVE_ID = "7f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"
FORK_ID = "8f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"


class Query:
    """A checkpoint and the output directory of its file sink.

    Args:
        place: Where ``checkpoint`` and ``out`` are.
        query_id: The query id.
    """

    def __init__(self, place: Path, query_id: str = LIVE_ID) -> None:
        self.checkpoint, self.out = place / "checkpoint", place / "out"
        for folder in (self.checkpoint / "offsets", self.checkpoint / "commits", self.out / "_spark_metadata"):
            folder.mkdir(parents=True)
        (self.checkpoint / "metadata").write_text(json.dumps({"id": query_id}))

    def plan(self, batch: int, offset: Any, *, watermark_ms: int = 0, partitions: int = 1) -> None:
        """Write an entry of the offset log."""
        conf = {"spark.sql.shuffle.partitions": str(partitions)}
        metadata = {"batchWatermarkMs": watermark_ms, "batchTimestampMs": batch, "conf": conf}
        text = f"v1\n{json.dumps(metadata)}\n{json.dumps(offset)}"
        (self.checkpoint / "offsets" / str(batch)).write_text(text)

    def commit(self, batch: int, *, watermark_ms: int = 0) -> None:
        """Write an entry of the commit log."""
        text = f'v1\n{{"nextBatchWatermarkMs":{watermark_ms}}}'
        (self.checkpoint / "commits" / str(batch)).write_text(text)

    def run(self, *batches: int, rows: bool = True) -> Query:
        """Batches of three rows each, planned, written and committed."""
        for batch in batches:
            self.plan(batch, {"offset": 3 * (batch + 1)})
            if rows:
                self.write(batch, [{"value": 3 * batch + number} for number in range(3)])
            self.commit(batch)
        return self

    def write(self, batch: int, rows: list[dict[str, Any]]) -> None:
        """Give rows to the sink as one batch."""
        data = self.out / f"part-{batch}.json"
        data.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        self.log(str(batch), data.name)

    def log(self, entry: str, *names: str) -> None:
        """Write an entry of the sink's log that names files."""
        status = {"size": 1, "isDir": False, "modificationTime": 1, "blockReplication": 1, "blockSize": 1}
        lines = [json.dumps({"path": f"file://{self.out}/{name}", **status, "action": "add"}) for name in names]
        (self.out / "_spark_metadata" / entry).write_text("\n".join(["v1", *lines]))


def fork_of(place: Path, since: int) -> Query:
    """What a restore of a backup at batch ``since`` leaves, under a query id of its own."""
    fork = Query(place, FORK_ID)
    for batch in (since - 1, since):
        fork.plan(batch, {"offset": 3 * (batch + 1)})
    fork.commit(since)
    return fork
