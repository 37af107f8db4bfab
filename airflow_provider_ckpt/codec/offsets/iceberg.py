"""The offset of an Iceberg source: how many files of a snapshot it has read (Iceberg's ``StreamingOffset``)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt.codec.jvm_text import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN

#: The one version that Iceberg writes; it refuses any other.
VERSION = 1


@dataclass(frozen=True, slots=True)
class IcebergOffset:
    """A position in a table.

    Args:
        snapshot_id: The snapshot.
        position: Number of its data files that are read (exclusive end). Iceberg reads an int.
        scan_all_files: The files are those of the whole table at that snapshot, not those that it added.
    """

    snapshot_id: int
    position: int
    scan_all_files: bool = False

    @property
    def json(self) -> str:
        """The text, byte for byte as Iceberg writes it."""
        fields = {
            "version": VERSION,
            "snapshot_id": self.snapshot_id,
            "position": self.position,
            "scan_all_files": self.scan_all_files,
        }
        return json.dumps(fields, separators=(",", ":"))


#: Of a source that has found no snapshot to begin with.
START = IcebergOffset(-1, -1)


def of_value(value: Any) -> IcebergOffset:
    """The offset in parsed JSON; unknown keys are ignored. Raises ValueError for what Iceberg refuses."""
    if not isinstance(value, dict) or type(value.get("version")) is not int or value["version"] != VERSION:
        raise ValueError(f"not an offset of Iceberg in version {VERSION}")
    snapshot_id, position, scans = value.get("snapshot_id"), value.get("position"), value.get("scan_all_files")
    if type(snapshot_id) is not int or not LONG_MIN <= snapshot_id <= LONG_MAX:
        raise ValueError("snapshot_id is not a number of 64 bits")
    if type(position) is not int or not INT_MIN <= position <= INT_MAX:
        raise ValueError("position is not a number of 32 bits")
    if type(scans) is not bool:
        raise ValueError("scan_all_files is neither true nor false")
    return IcebergOffset(snapshot_id, position, scans)
