"""A query that reads what another one writes, which was rolled back without it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.kafka_checkpoint import commit_batch


def make_lake(at: Path) -> Path:
    """A directory with a file of each of batches 0 to 5 of its writer, of which a query has read those up to 4."""
    log, checkpoint = at / "orders/_spark_metadata", at / "totals"
    log.mkdir(parents=True)
    (checkpoint / "sources/0").mkdir(parents=True)
    for batch_id in range(6):
        path = f"file://{at}/orders/{batch_id}.parquet"
        status = {"path": path, "size": 1, "isDir": False, "modificationTime": batch_id, "blockReplication": 1}
        (log / str(batch_id)).write_text(f"v1\n{json.dumps({**status, 'blockSize': 1, 'action': 'add'})}")
        if batch_id < 5:
            commit_batch(checkpoint, batch_id, json.dumps({"logOffset": batch_id}))
            entry = {"path": path, "timestamp": batch_id, "batchId": batch_id}
            (checkpoint / f"sources/0/{batch_id}").write_text(f"v1\n{json.dumps(entry)}")
    return at


def drop(lake: Path, *batches: int) -> None:
    """Take batches out of the log of the writer's sink, as a rollback of it does."""
    for batch_id in batches:
        (lake / "orders/_spark_metadata" / str(batch_id)).unlink()
