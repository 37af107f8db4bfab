"""The offset of a Kinesis source: an iterator for each shard (awslabs' ``KinesisV2SourceOffset``, and its relatives).

An entry holds where its batch begins. A shard that was read to its end is left out of later entries, and one that a
split or a merge has made comes into them: a shard that an entry lacks has ended, or has not begun.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

METADATA = "metadata"
#: No position: where it is is known when it is read.
_LATEST = "LATEST"
#: What the position of an iterator is in.
_SCALES: Mapping[str, str] = {
    "TRIM_HORIZON": "sequence number",
    "AT_SEQUENCE_NUMBER": "sequence number",
    "AFTER_SEQUENCE_NUMBER": "sequence number",
    "SHARD_END": "sequence number",
    "AT_TIMESTAMP": "timestamp",
    _LATEST: "moving end",
}
_UNREADABLE = "position that ckpt cannot read"
#: More than any sequence number has; those of Kinesis have 56.
_MOST_DIGITS = 200


def fits(value: Any) -> bool:
    """True if parsed JSON is such an offset. Shards of older connectors have no sub-sequence number."""
    if not isinstance(value, dict) or not isinstance(value.get(METADATA, {}), dict):
        return False
    return all(
        isinstance(shard, dict) and isinstance(shard.get("iteratorPosition"), str | int)
        for shard in shards(value).values()
    )


def shards(value: Mapping[str, Any]) -> dict[str, Any]:
    """The iterator of each shard."""
    return {shard_id: shard for shard_id, shard in value.items() if shard_id != METADATA}


def with_shards(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The offset with these shards instead of its own."""
    rest = {METADATA: value[METADATA]} if METADATA in value else {}
    return {**rest, **wanted}


def stream_name(value: Mapping[str, Any]) -> str:
    """The stream; empty where the offset does not say."""
    return str(value.get(METADATA, {}).get("streamName", ""))


def batch_number(value: Mapping[str, Any]) -> int | None:
    """The number that the source itself gives the batch; None where the offset does not say."""
    return _digits(value.get(METADATA, {}).get("batchId", ""))


def positions(value: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The position of each shard, as far as it can be read."""
    found = {shard_id: _position(shard) for shard_id, shard in shards(value).items()}
    return {shard_id: position for shard_id, position in found.items() if position is not None}


def scales(value: Mapping[str, Any]) -> dict[str, str]:
    """Unit of the position of each shard."""
    return {
        shard_id: _UNREADABLE if _position(shard) is None and _iterator(shard) != _LATEST else _SCALES[_iterator(shard)]
        for shard_id, shard in shards(value).items()
    }


def _position(shard: Mapping[str, Any]) -> tuple[int, ...] | None:
    """The position of a shard; None when that cannot be read, which says nothing of the other shards.

    After the record 5 is ``(5,)``, before it ``(4, 0)``, and after a part of it ``(4, 1, part)``: an aggregated record
    has parts, of which the last one ends the record.
    """
    number, part = _digits(shard["iteratorPosition"]), _digits(shard.get("subSequenceNumber", -1))
    match _iterator(shard):
        case "TRIM_HORIZON":
            return (-1,)
        case "SHARD_END":
            return (10**_MOST_DIGITS,)
        case "AFTER_SEQUENCE_NUMBER" if number is not None and part is not None:
            is_whole = part < 0 or str(shard.get("isLast", "false")).lower() == "true"
            return (number,) if is_whole else (number - 1, 1, part)
        case "AT_SEQUENCE_NUMBER" if number is not None:
            return (number - 1, 0)
        case "AT_TIMESTAMP" if number is not None:
            return (number,)
    return None


def _iterator(shard: Mapping[str, Any]) -> str:
    return str(shard.get("iteratorType", "AFTER_SEQUENCE_NUMBER")).upper()


def _digits(value: Any) -> int | None:
    text = str(value)
    return int(text) if len(text) <= _MOST_DIGITS and text.removeprefix("-").isdecimal() else None
