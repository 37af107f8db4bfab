"""The offset of a Pulsar source: a message id for each topic, the bytes of its protobuf as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_provider_ckpt.codec.source_kind import is_long

#: Tags of the fields that order message ids: the ledger, the entry in it, the index in a batched entry.
_LEDGER, _ENTRY, _BATCH_INDEX = 1, 2, 4


def fits(value: Any) -> bool:
    """True if parsed JSON is such an offset; Java's bytes are signed."""
    return isinstance(value, dict) and all(
        isinstance(data, list) and all(is_long(byte) and -128 <= byte < 256 for byte in data) for data in value.values()
    )


def positions(value: Mapping[str, list[int]]) -> dict[str, tuple[int, ...]]:
    """Ledger, entry and index in the batch of the message of each topic."""
    fields = {topic: _varint_fields(data) for topic, data in value.items()}
    return {
        topic: (ids.get(_LEDGER, 0), ids.get(_ENTRY, 0), ids.get(_BATCH_INDEX, -1)) for topic, ids in fields.items()
    }


def _varint_fields(data: list[int]) -> dict[int, int]:
    numbers, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift = min(shift + 7, 70)  # a number has 64 bits
        if not byte & 0x80:
            numbers.append(value)
            value = shift = 0
    return {tag >> 3: number for tag, number in zip(numbers[::2], numbers[1::2], strict=False)}
