"""The offset of a Delta source: a version of the table, and a file in it (Delta's ``DeltaSourceOffset``)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt.codec.jvm_text import LONG_MAX
from airflow_provider_ckpt.codec.source_kind import has_longs, is_flag, is_long

#: The index before all files of a version. In version 1 of the format it is spelt -1.
BASE_INDEX = -100
_BASE_INDEX_V1 = -1
#: The indices of a change of the metadata and right after it, for which alone version 3 of the format is written.
METADATA_CHANGE, POST_METADATA_CHANGE = -20, -19
#: The index after all files of a version, in memory alone.
_END_INDEX = LONG_MAX - 100
_VERSIONS = (1, 3)


@dataclass(frozen=True, slots=True)
class DeltaOffset:
    """A position in a table.

    Args:
        table_id: Id of the table.
        version: The version that is read, or that will be.
        index: The last file of it that was read (inclusive); BASE_INDEX for none.
        in_first_snapshot: The files are those of the whole table at that version, not of the version itself.
    """

    table_id: str
    version: int
    index: int = BASE_INDEX
    in_first_snapshot: bool = False

    @property
    def has_begun_version(self) -> bool:
        """True if part of its version was read; otherwise the offset is right before that version."""
        return self.in_first_snapshot or self.index != BASE_INDEX

    def has_read_from(self, version: int) -> bool:
        """True if part of this version, or of a later one, was read."""
        return self.version > version or (self.version == version and self.has_begun_version)

    @property
    def json(self) -> str:
        """The text, byte for byte as Delta writes it."""
        fields = {
            "sourceVersion": 3 if self.index in (METADATA_CHANGE, POST_METADATA_CHANGE) else 1,
            "reservoirId": self.table_id,
            "reservoirVersion": self.version,
            "index": _BASE_INDEX_V1 if self.index == BASE_INDEX else self.index,
            "isStartingVersion": self.in_first_snapshot,
        }
        return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


def of_value(value: Any) -> DeltaOffset:
    """The offset that parsed JSON is; other keys are passed over. Raises ValueError for what Delta refuses."""
    if not has_longs(value, "reservoirVersion", "index") or not isinstance(value.get("reservoirId"), str):
        raise ValueError("reservoirId, reservoirVersion or index is missing, or of another type")
    version, index = value.get("sourceVersion"), value["index"]
    if not is_long(version) or version not in _VERSIONS:
        raise ValueError("sourceVersion is neither 1 nor 3")
    if version == 1 and index == _BASE_INDEX_V1:
        index = BASE_INDEX
    if index in (_BASE_INDEX_V1, _END_INDEX) or not is_flag(value, "isStartingVersion"):
        raise ValueError("Delta stops at such an index, or isStartingVersion is neither true nor false")
    return DeltaOffset(value["reservoirId"], value["reservoirVersion"], index, value.get("isStartingVersion", False))
