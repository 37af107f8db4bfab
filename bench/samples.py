"""What the benchmarks measure with: checkpoints of stopped queries, written in Spark's layout."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path

from airflow_provider_ckpt.storage.store import Store

CONF = {"spark.sql.shuffle.partitions": "200", "spark.sql.streaming.multipleWatermarkPolicy": "min"}


def kafka_entry(partitions: int) -> bytes:
    """An offset log entry as a Kafka query writes it."""
    metadata = json.dumps({"batchWatermarkMs": 1767225640000, "batchTimestampMs": 1767225650000, "conf": CONF})
    offsets = json.dumps({"events": {str(number): 10**9 + number for number in range(partitions)}})
    return "\n".join(["v1", metadata, offsets]).encode()


def write_checkpoint(root: Path, batches: int) -> Path:
    """A stopped query with so many batches in its logs."""
    store = Store.open(str(root))
    store.create("metadata", json.dumps({"id": str(uuid.uuid4())}).encode())
    for batch in range(batches):
        store.create(f"offsets/{batch}", kafka_entry(12))
        store.create(f"commits/{batch}", b'v1\n{"nextBatchWatermarkMs":0}')
    return root


#: The once-only confs that Spark 4.3 writes for a stateful query: as many, and as long.
MANY_CONFS = {
    f"spark.sql.streaming.statefulOperator.conf{number:02d}": "a value of some letters" for number in range(17)
}


def write_log(root: Path, batches: int) -> Path:
    """A query over eight Kafka partitions whose entries are as large as those of Spark 4.3, each with other offsets."""
    store = Store.open(str(root))
    store.create("metadata", json.dumps({"id": str(uuid.uuid4())}).encode())
    for batch in range(batches):
        metadata = {"batchWatermarkMs": 1767225640000, "batchTimestampMs": 1767225650000 + batch, "conf": MANY_CONFS}
        offsets = {"events": {str(number): 10**9 + batch for number in range(8)}}
        store.create(f"offsets/{batch}", f"v1\n{json.dumps(metadata)}\n{json.dumps(offsets)}".encode())
        store.create(f"commits/{batch}", b'v1\n{"nextBatchWatermarkMs":0}')
    return root


def write_state(root: Path, partitions: int, versions: int, file_bytes: int) -> Path:
    """A stopped query with an HDFS-backed state, all of whose files a restart needs."""
    data, last = os.urandom(file_bytes), versions - 1
    metadata = json.dumps({"batchWatermarkMs": 0, "conf": {"spark.sql.shuffle.partitions": str(partitions)}})
    logs = Store.open(str(root))
    logs.create("metadata", json.dumps({"id": str(uuid.uuid4())}).encode())
    for batch in (last - 1, last):
        logs.create(f"offsets/{batch}", f"v1\n{metadata}\n{batch}".encode())
        logs.create(f"commits/{batch}", b'v1\n{"nextBatchWatermarkMs":0}')
    for partition in range(partitions):
        directory = root / "state" / "0" / str(partition)
        directory.mkdir(parents=True)
        for version in range(1, versions + 1):
            (directory / f"{version}.delta").write_bytes(data)
    return root


def write_batches(root: Path, state_bytes: int) -> Path:
    """A stopped query of twelve batches with state in twenty partitions, each file of so many bytes."""
    write_state(root, 20, 12, state_bytes)
    store = Store.open(str(root))
    metadata = json.dumps({"batchWatermarkMs": 0, "conf": {"spark.sql.shuffle.partitions": "20"}})
    for batch in range(10):
        store.create(f"offsets/{batch}", f"v1\n{metadata}\n{batch}".encode())
        store.create(f"commits/{batch}", b'v1\n{"nextBatchWatermarkMs":0}')
    return root
