"""Directories that people give in place of a checkpoint, told by what is at their top."""

from __future__ import annotations

import re
from collections.abc import Collection

from airflow_provider_ckpt.codec import layout

_CHECKPOINT = "Give the checkpointLocation of the query, the directory that holds offsets/ and commits/."
_SINK = "To judge a restart with this as the sink of the query: ckpt gate LOCATION --sink"
_BACKUP_ID = re.compile(r"\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{8}")
_DATA = (".parquet", ".orc", ".json", ".csv", ".avro", ".txt")


def what_it_is(objects: Collection[str], directories: Collection[str]) -> tuple[str, str] | None:
    """Say what a directory is that is not a checkpoint, and what to give instead; None if that cannot be told.

    Args:
        objects: Names of the objects at its top.
        directories: Names of the directories at its top.
    """
    if {layout.OFFSETS, layout.COMMITS} & set(directories):
        return None
    tables = {"_delta_log": ("a Delta table", "delta"), ".hoodie": ("a Hudi table", "hudi")}
    for directory, (table, sink) in tables.items():
        if directory in directories:
            return table, f"{_CHECKPOINT} {_SINK} {sink}:URI"
    if layout.METADATA in directories and "data" in directories:
        return "an Iceberg table", f"{_CHECKPOINT} {_SINK} iceberg:URI"
    if layout.SINK_LOG in directories:
        return (
            "the output directory of a file sink",
            f"{_CHECKPOINT} {_SINK} file:URI",
        )
    if "manifest.json" in objects and "checkpoint" in directories:
        return (
            "a backup",
            "Restore the backup (ckpt restore). If it is a full backup, you can also give its directory checkpoint.",
        )
    if any(_BACKUP_ID.fullmatch(name) for name in directories):
        return (
            "the root of backups",
            "ckpt backups lists the backups; ckpt restore writes one to a new checkpoint location.",
        )
    if any(name.endswith(_DATA) for name in objects) and layout.METADATA not in objects:
        return "a directory of data files", _CHECKPOINT
    return None
