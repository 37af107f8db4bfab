"""A checkpoint of a query that reads Kafka, written in the form of Spark's."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from pathlib import Path

#: When batch 0 began, epoch milliseconds; each batch begins a second after the one before it.
BEGAN_MS = 1_767_225_600_000


def plan_batch(checkpoint: Path, batch_id: int, *offsets: Mapping[str, Mapping[int, int]] | str) -> None:
    """Write an entry of the offset log, with the offset of each source."""
    for directory in ("offsets", "commits"):
        (checkpoint / directory).mkdir(parents=True, exist_ok=True)
    (checkpoint / "metadata").write_text(f'{{"id":"{uuid.uuid5(uuid.NAMESPACE_URL, checkpoint.name)}"}}')
    conf = {"spark.sql.shuffle.partitions": "2"}
    metadata = {"batchWatermarkMs": 0, "batchTimestampMs": BEGAN_MS + 1_000 * batch_id, "conf": conf}
    texts = [offset if isinstance(offset, str) else json.dumps(offset) for offset in offsets]
    (checkpoint / f"offsets/{batch_id}").write_text("\n".join(["v1", json.dumps(metadata), *texts]))


def commit_batch(checkpoint: Path, batch_id: int, *offsets: Mapping[str, Mapping[int, int]] | str) -> None:
    """Write a planned batch and its commit."""
    plan_batch(checkpoint, batch_id, *offsets)
    (checkpoint / f"commits/{batch_id}").write_text('v1\n{"nextBatchWatermarkMs":0}')


def write_initial_offset(checkpoint: Path, source_id: str, offsets: Mapping[str, Mapping[int, int]]) -> None:
    """Write where a source began, as it does before its first batch is planned."""
    (checkpoint / "sources" / source_id).mkdir(parents=True)
    (checkpoint / "sources" / source_id / "0").write_bytes(b"\0v1\n" + json.dumps(offsets).encode())
