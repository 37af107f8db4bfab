"""Checkpoints of a Kafka query for the pages, as many batches and partitions as a test wants; no state."""

from __future__ import annotations

import json
from pathlib import Path

MINUTE_MS = 60_000
#: Kafka's type is in the offset log of version 2 alone; here somebody has to declare it.
FIRST_MS = 1_767_225_600_000


def write_checkpoint(
    place: Path,
    batches: int = 5,
    *,
    partitions: int = 2,
    topic: str = "orders",
    confs: dict[str, str] | None = None,
    in_flight: bool = False,
) -> Path:
    """Batches 0 to ``batches`` - 1, each with ten records of every partition."""
    for log in ("offsets", "commits"):
        (place / log).mkdir(parents=True)
    (place / "metadata").write_text(json.dumps({"id": "7f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"}))
    for batch in range(batches):
        write_batch(place, batch, partitions, topic, confs or {})
        if not (in_flight and batch == batches - 1):
            (place / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return place


def write_batch(place: Path, batch: int, partitions: int, topic: str, confs: dict[str, str]) -> None:
    """Plan one batch."""
    metadata = {"batchWatermarkMs": 0, "batchTimestampMs": FIRST_MS + batch * MINUTE_MS, "conf": confs}
    offset = {topic: {str(number): 10 * (batch + 1) for number in range(partitions)}}
    (place / "offsets" / str(batch)).write_text(f"v1\n{json.dumps(metadata)}\n{json.dumps(offset)}")
