"""The 32 bit xxHash, by which ``LZ4BlockOutputStream`` sums each block.

The library ``xxhash`` does it; ``ckpt.pyz``, which cannot load it, does it in plain Python, a thousand times slower.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache

_P1, _P2, _P3, _P4, _P5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
_MASK = 0xFFFFFFFF


def xxhash32(data: bytes | bytearray, seed: int) -> int:
    """The hash of some bytes, unsigned."""
    return _fastest()(data, seed)


@cache
def _fastest() -> Callable[[bytes | bytearray, int], int]:
    try:
        import xxhash  # needed for state files alone, so that the logs can be read without it
    except ImportError:
        return plain_xxhash32
    hashed: Callable[[bytes | bytearray, int], int] = xxhash.xxh32_intdigest
    return hashed


def plain_xxhash32(data: bytes | bytearray, seed: int) -> int:
    """As :func:`xxhash32`, in plain Python."""
    at, end = 0, len(data) - len(data) % 16
    value = (seed + _P5) & _MASK
    if end:
        lanes = [(seed + add) & _MASK for add in (_P1 + _P2, _P2, 0, -_P1)]
        for words in struct.iter_unpack("<4I", data[:end]):
            lanes = [_turned(lane + word * _P2, 13) * _P1 & _MASK for lane, word in zip(lanes, words, strict=True)]
        value = sum(_turned(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        at = end
    value = value + len(data) & _MASK
    while at + 4 <= len(data):
        value = _turned(value + int.from_bytes(data[at : at + 4], "little") * _P3, 17) * _P4 & _MASK
        at += 4
    for byte in data[at:]:
        value = _turned(value + byte * _P5, 11) * _P1 & _MASK
    return _mixed(value)


def _turned(value: int, bits: int) -> int:
    value &= _MASK
    return (value << bits | value >> 32 - bits) & _MASK


def _mixed(value: int) -> int:
    value = (value ^ value >> 15) * _P2 & _MASK
    value = (value ^ value >> 13) * _P3 & _MASK
    return value ^ value >> 16
