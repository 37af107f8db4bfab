"""How much is read of a file at most, by what it is. Spark's own files stay far below; over it nothing is read.

JSON takes up to thirty times its size once it is parsed, so what is parsed as a whole has the small limits.
"""

from __future__ import annotations

import sys
from functools import lru_cache

MIB = 1 << 20
#: Any file that has no limit of its own; of state files the beginning is enough (``Store.head``).
MOST_BYTES = 64 * MIB
#: An entry of the offset or the commit log: 200,000 partitions of Kafka, 100,000 state stores.
LOG_ENTRY_BYTES = 4 * MIB
#: ``metadata``: a query id.
METADATA_BYTES = 64 << 10
#: An entry of the log of a file source or sink: about 100,000 files.
FILE_LOG_BYTES = 16 * MIB
#: What an operator says of itself, and its schema.
OPERATOR_BYTES = 4 * MIB
#: A RocksDB zip: the list of its files, its manifest, its options; the data is beside it.
ZIP_BYTES = 16 * MIB
#: A checksum file; Hadoop's needs 8 KiB for each MiB of its file.
CHECKSUM_BYTES = MIB
#: The same, of a file that may have any size: enough for 128 GiB.
LONG_CHECKSUM_BYTES = 1024 * MIB
#: The beginning of a changelog, which names the files before it.
CHANGELOG_HEAD_BYTES = 1 * MIB
#: A record of a change: its plan has some 200 bytes a step.
RECORD_BYTES = 48 * MIB
#: A manifest has about 400 bytes an object, so this is about 120,000 of them.
MANIFEST_BYTES = 48 * MIB

#: What is read of the commits of a Delta table, line by line, to find one batch.
DELTA_LOG_BYTES = 512 * MIB
#: The metadata of an Iceberg table, unpacked, and a commit of Hudi; about 30,000 snapshots or files.
TABLE_METADATA_BYTES = 32 * MIB
#: A log entry of a file source that is judged line by line: about two million files.
SOURCE_LOG_BYTES = 256 * MIB
#: An entry of a source's log that is copied: about 30 million files, all of which Spark holds in memory.
SOURCE_ENTRY_BYTES = 4096 * MIB
#: A baseline of accepted findings.
BASELINE_BYTES = 16 * MIB
#: A bookmark, which has the offsets of two entries as texts in JSON.
BOOKMARK_BYTES = 16 * MIB

_BY_DIRECTORY = {
    "offsets": LOG_ENTRY_BYTES,
    "commits": LOG_ENTRY_BYTES,
    "_spark_metadata": FILE_LOG_BYTES,
    "_metadata": OPERATOR_BYTES,
    "v2": OPERATOR_BYTES,
}


@lru_cache(maxsize=4_096)
def most_bytes(name: str) -> int:
    """How much of a file is read at most; ``name`` is its place in a checkpoint, wherever that is."""
    *directories, base = name.split("/")
    if base.endswith(".crc"):
        return CHECKSUM_BYTES
    if base.endswith(".zip"):
        return ZIP_BYTES
    if base == "metadata" and "state" not in directories:
        return METADATA_BYTES
    if "sources" in directories:
        return FILE_LOG_BYTES
    return _BY_DIRECTORY.get(directories[-1] if directories else "", MOST_BYTES)


def largest(name: str) -> int:
    """How large a file may be to be copied: larger than anything that its name can mean; state has any size."""
    if name.endswith(".crc"):
        directory, _, base = name.rpartition("/")
        summed = f"{directory}/{base.removesuffix('.crc').removeprefix('.')}"
        return LONG_CHECKSUM_BYTES if is_any_size(summed) else CHECKSUM_BYTES
    if "sources" in name.split("/"):
        return SOURCE_ENTRY_BYTES
    return sys.maxsize if is_any_size(name) else most_bytes(name)


def is_any_size(name: str) -> bool:
    """True if a file may rightly be larger than the part of it that is read."""
    return name.endswith(".crc") or "sources" in name.split("/") or most_bytes(name) == MOST_BYTES


def size_text(size: int) -> str:
    """Bytes for people: ``4 MiB``."""
    if size >= 1024 * MIB:
        return f"{size // (1024 * MIB)} GiB"
    return f"{size // MIB} MiB" if size >= MIB else f"{size // 1024} KiB"
