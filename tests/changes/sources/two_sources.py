"""Checkpoints of a query with two sources of files, made up for planners."""

from __future__ import annotations

import json

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from tests.views import view_of

COMMIT = b'v1\n{"nextBatchWatermarkMs":0}'
WATERMARK = b'v1\n{"nextBatchWatermarkMs":1795213211916}'


def entry(*offsets: int | None) -> bytes:
    lines = ["-" if offset is None else json.dumps({"logOffset": offset}) for offset in offsets]
    metadata = {"batchWatermarkMs": 0, "batchTimestampMs": 5, "conf": {"spark.sql.shuffle.partitions": "2"}}
    return "\n".join(["v1", json.dumps(metadata), *lines]).encode()


def query(planned: list[bytes], committed: int, commit: bytes = COMMIT) -> CheckpointView:
    """Two sources with logs of files; the first batch has been purged."""
    logs = [f"sources/{source}/{number}" for source in (0, 1) for number in range(len(planned) + 1)]
    entries = {f"offsets/{batch}": data for batch, data in enumerate(planned, 1)}
    commits = {f"commits/{batch}": commit for batch in range(1, committed + 1)}
    return view_of(*logs, "sources/0/.0.crc", "offsets/.2.crc", **entries, **commits)


COMMITTED = query([entry(1, 1), entry(2, 2), entry(3, 3)], 3)
FLYING = query([entry(1, 1), entry(2, 2), entry(3, 3)], 2)
FIRST = view_of("sources/0/0", **{"offsets/0": entry(0, 0), "commits/0": COMMIT})
ONLY_FLYING = view_of("sources/0/0", **{"offsets/0": entry(0, None)})
