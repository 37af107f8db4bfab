"""What the benchmarks measure with: checkpoints of stopped queries, written in Spark's layout."""

from __future__ import annotations

import json
import os
import struct
import uuid
from pathlib import Path

from airflow_provider_ckpt.codec.checksum import HadoopChecksum, SparkChecksum, crc32c
from airflow_provider_ckpt.codec.state_content import xxhash32
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


#: Spark's block size, and the seed by which ``LZ4BlockOutputStream`` sums a block.
_BLOCK_BYTES, _LZ4_SEED = 32 << 10, 0x9747B28C
#: What beside a state file says what is in it: Spark's own checksum file, or Hadoop's hidden one.
SPARK, HADOOP = "{name}.crc", ".{name}.crc"


def state_file(size: int) -> bytes:
    """A delta as Spark writes it, of about so many bytes: rows of which LZ4 takes a third away, and the end marker."""
    import cramjam

    rows, data = b"".join(_row() for _ in range(size // 52)) + b"\xff" * 4, bytearray()
    for at in range(0, len(rows), _BLOCK_BYTES):
        plain = rows[at : at + _BLOCK_BYTES]
        block, hashed = bytes(cramjam.lz4.compress_block(plain, store_size=False)), xxhash32(plain, _LZ4_SEED)
        data += struct.pack("<8sBiiI", b"LZ4Block", 0x25, len(block), len(plain), hashed & 0x0FFFFFFF) + block
    return bytes(data + struct.pack("<8sBiii", b"LZ4Block", 0x15, 0, 0, 0))


def _row() -> bytes:
    """A key and a value, each with its length before it."""
    return struct.pack(">i", 16) + os.urandom(16) + struct.pack(">i", 48) + os.urandom(24) + bytes(24)


def checksum_file(data: bytes, kind: str) -> bytes:
    """The checksum file of some bytes, of one of the two kinds."""
    if kind == HADOOP:
        return HadoopChecksum.of(data).encode()
    crc = crc32c(data)
    return SparkChecksum("CRC32C", crc - 2**32 if crc >= 2**31 else crc, len(data), 0).encode()


def write_state(root: Path, partitions: int, versions: int, file_bytes: int, checksums: str | None = None) -> Path:
    """A stopped query with an HDFS-backed state, all of whose files a restart needs."""
    data, last = state_file(file_bytes), versions - 1
    beside = checksum_file(data, checksums) if checksums else b""
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
            if checksums:
                (directory / checksums.format(name=f"{version}.delta")).write_bytes(beside)
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
