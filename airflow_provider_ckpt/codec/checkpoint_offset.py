"""The offset of a stream over the logs of a fleet: how far each checkpoint was read.

Few checkpoints are plain JSON, ``{"v": 1, "at": {location: [timeline, first batch, batch, commit]}}``. Names of many
are compressed once and the numbers by column, so that 100,000 of them take less than a megabyte.
"""

from __future__ import annotations

import json
import zlib
from array import array
from base64 import b64decode, b64encode
from binascii import Error as NoBase64Error
from collections.abc import Iterable, Mapping
from functools import lru_cache
from sys import byteorder
from types import MappingProxyType
from typing import Any, NamedTuple

from airflow_provider_ckpt.codec.jvm_text import LONG_MAX, LONG_MIN

VERSION = 1
#: An offset of more bytes is compressed.
MOST_PLAIN_BYTES = 64 << 10
#: What an offset unpacks to, bytes: the names of a million checkpoints.
MOST_UNPACKED_BYTES = 256 << 20
_NUMBER_BYTES = 8


class CheckpointPosition(NamedTuple):
    """How far one checkpoint was read.

    Args:
        timeline: Number of times that its log was seen to go back before.
        first_batch: The first batch of this timeline that is read.
        batch_id: The last batch that was read (inclusive); the one before ``first_batch`` when none was.
        committed_at_ms: When that batch was committed, epoch milliseconds; None where the storage does not say.
    """

    timeline: int
    first_batch: int
    batch_id: int
    committed_at_ms: int | None


def encode(positions: Mapping[str, CheckpointPosition]) -> dict[str, Any]:
    """Positions as JSON. Equal positions give equal texts, as long as zlib is the same."""
    names = tuple(sorted(positions))
    if len(names) < MOST_PLAIN_BYTES // 20:
        plain = {"v": VERSION, "at": {name: list(positions[name]) for name in names}}
        if len(json.dumps(plain)) <= MOST_PLAIN_BYTES:
            return plain
    columns = zip(*(positions[name] for name in names), strict=True)
    numbers = b"".join(_packed(LONG_MIN if value is None else value for value in column) for column in columns)
    return {"v": VERSION, "names": _compressed_names(names), "at": _text(zlib.compress(numbers))}


def decode(value: Any) -> Mapping[str, CheckpointPosition]:
    """Positions by location. Raises ValueError for anything that is no offset of this source."""
    if not isinstance(value, dict) or value.get("v") != VERSION or not isinstance(value.get("at"), dict | str):
        raise ValueError("not an offset of the source checkpoint")
    if isinstance(value["at"], dict):
        return {str(name): _position(numbers) for name, numbers in value["at"].items()}
    if not isinstance(value.get("names"), str):
        raise ValueError("the names of checkpoints are not valid")
    return _unpacked(value["names"], value["at"])


def fits(value: Any) -> bool:
    """True if parsed JSON is an offset of this source. Raises ValueError, which says why not."""
    return decode(value) is not None


def numbers(value: Any) -> Mapping[str, tuple[int, ...]]:
    """Positions that compare: the timeline, the batch, and the first batch, which :func:`read_between` needs.

    Raises as :func:`decode`.
    """
    return {location: (at.timeline, at.batch_id, at.first_batch) for location, at in decode(value).items()}


def read_between(earlier: tuple[int, ...] | None, later: tuple[int, ...]) -> tuple[int | None, int]:
    """The batches after which (exclusive) and up to which (inclusive) a checkpoint was read between two positions."""
    timeline, batch_id, first_batch = later
    return earlier[1] if earlier and earlier[0] == timeline else first_batch - 1, batch_id


def _position(numbers: Any) -> CheckpointPosition:
    if not isinstance(numbers, list) or len(numbers) != len(CheckpointPosition._fields):
        raise ValueError("the position of a checkpoint is not valid")
    known = [number for number in numbers[:3] if type(number) is int and LONG_MIN <= number <= LONG_MAX]
    if len(known) < 3 or not (numbers[3] is None or (type(numbers[3]) is int and abs(numbers[3]) <= LONG_MAX)):
        raise ValueError("the position of a checkpoint is not valid")
    return CheckpointPosition(*numbers)


@lru_cache(maxsize=2)  # from one micro-batch to the next the names are mostly the same
def _compressed_names(names: tuple[str, ...]) -> str:
    return _text(zlib.compress(json.dumps(names).encode()))


@lru_cache(maxsize=2)
def _names(text: str) -> tuple[str, ...]:
    names = json.loads(_inflated(text))
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("the names of checkpoints are not valid")
    return tuple(names)


@lru_cache(maxsize=2)  # where one micro-batch ends, the next begins
def _unpacked(names_text: str, text: str) -> Mapping[str, CheckpointPosition]:
    names, data = _names(names_text), _inflated(text)
    size = len(names) * _NUMBER_BYTES
    if len(data) != size * len(CheckpointPosition._fields):
        raise ValueError("the number of positions is not the number of checkpoints")
    timelines, firsts, batches, commits = (_numbers(data[size * at : size * (at + 1)]) for at in range(4))
    known = (None if commit == LONG_MIN else commit for commit in commits)
    positions = map(CheckpointPosition, timelines, firsts, batches, known)
    return MappingProxyType(dict(zip(names, positions, strict=True)))


def _packed(numbers: Iterable[int]) -> bytes:
    """64-bit numbers, little-endian, byte by byte of all: the high bytes are nearly all equal then."""
    column = array("q", numbers)
    if byteorder == "big":
        column.byteswap()
    data = column.tobytes()
    return b"".join(data[byte::_NUMBER_BYTES] for byte in range(_NUMBER_BYTES))


def _numbers(data: bytes) -> array[int]:
    count = len(data) // _NUMBER_BYTES
    whole = bytearray(len(data))
    for byte in range(_NUMBER_BYTES):
        whole[byte::_NUMBER_BYTES] = data[byte * count : (byte + 1) * count]
    column = array("q", bytes(whole))
    if byteorder == "big":
        column.byteswap()
    return column


def _text(data: bytes) -> str:
    return b64encode(data).decode()


def _inflated(text: str) -> bytes:
    inflate = zlib.decompressobj()
    try:
        data = inflate.decompress(b64decode(text, validate=True), MOST_UNPACKED_BYTES)
    except (NoBase64Error, zlib.error) as error:
        raise ValueError("the compressed positions cannot be read") from error
    if inflate.unconsumed_tail or not inflate.eof:
        raise ValueError("the compressed positions cannot be read, or are too many")
    return data
