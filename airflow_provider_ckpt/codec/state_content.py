"""Checks that a state file (delta, snapshot or changelog) is whole, from its first byte to its end marker.

All three are one compressed stream. What is in it ends with the int -1 in place of a key's length, or, in changelogs
that know column families (``v2``, and ``v4`` of state checkpoint format 2), with the record type 0.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain

from airflow_provider_ckpt.codec.state_file import Decompress

#: Spark's short names, and the classes behind them.
CODECS = ("lz4", "lzf", "snappy", "zstd")
#: The one that sums each block, and so tells of every damage.
SUMMED = "lz4"
_CLASSES = {f"org.apache.spark.io.{name}compressioncodec": name for name in CODECS}
#: Larger files are judged by the frames of their compression alone, so that large states are never unpacked.
DECOMPRESSED_UP_TO = 64 << 10
#: No file of that size becomes longer than this by any of Spark's codecs, but for one that is made to.
_MOST_PLAIN_BYTES = 32 << 20
_WITH_FAMILIES = (b"\0\2v2", b"\0\2v4")
#: The end marker alone, behind the version where there is one.
_WITHOUT_KEYS = (b"\xff\xff\xff\xff", b"\0\2v2\0")
_LONGEST_WITHOUT_KEYS = max(map(len, _WITHOUT_KEYS))
_DAMAGED = "a damaged or cut off"
#: No block that Spark reads is larger.
_MOST_BLOCK_BYTES = 32 << 20
_LZ4_SEED = 0x9747B28C
_LZ4_HEADER = struct.Struct("<8sBiii")


def short_codec(codec: str) -> str | None:
    """The short name of ``stateStore.compression.codec``; None for one that Spark does not bring."""
    name = codec.lower()
    return name if name in CODECS else _CLASSES.get(name)


_MAGIC = {"lz4": b"LZ4Block", "lzf": b"ZV", "snappy": b"\x82SNAPPY\0", "zstd": b"\x28\xb5\x2f\xfd"}


def problem_of_start(data: bytes, codec: str) -> str | None:
    """Say what is wrong with the first bytes of a file for its codec; None if nothing is (see :func:`problem_of`)."""
    if not data:
        return "empty"
    return None if data.startswith(_MAGIC[codec]) else f"not a {codec} stream, which is the codec of the offset log"


def problem_of(data: bytes, codec: str, decompressors: Mapping[str, Decompress]) -> str | None:
    """Say what is wrong with a delta, snapshot or changelog, in words that follow "is"; None when it is whole.

    Args:
        data: The whole file.
        codec: A short name.
        decompressors: By short name. What is compressed otherwise is only seen not to be empty.
    """
    if (problem := problem_of_start(data, codec)) is not None:
        return problem
    try:
        decompress = decompressors.get(codec) if len(data) <= DECOMPRESSED_UP_TO else None
        if codec == "lz4":
            _walk_lz4((data,), decompress)
        elif decompress is not None:
            plain = decompress(data, _MOST_PLAIN_BYTES)
            _require_end(plain[:4], plain[-4:])
    except (ValueError, IndexError, EOFError, struct.error) as error:
        return f"{_DAMAGED} {codec} stream ({error})"
    return None


def holds_nothing(data: bytes, codec: str, decompressors: Mapping[str, Decompress]) -> bool:
    """True if a whole delta, snapshot or changelog names no key; False if it cannot be unpacked.

    Args:
        data: The whole file.
        codec: A short name.
        decompressors: Decompressors by the short name of their codec.
    """
    decompress = decompressors.get(codec)
    if decompress is None:
        return False
    try:
        plain = bytes(decompress(data, _LONGEST_WITHOUT_KEYS + 1))
    except (ValueError, IndexError, EOFError, struct.error):
        return False
    return plain in _WITHOUT_KEYS


def problem_of_blocks(pieces: Iterable[bytes], codec: str) -> str | None:
    """Say what is wrong with a large file, judged by the headers of its blocks; see :func:`problem_of`.

    Args:
        pieces: The file, a piece at a time.
        codec: A short name; of others than lz4 only the first bytes are read.
    """
    stream = iter(pieces)
    first = next(stream, b"")
    if (problem := problem_of_start(first, codec)) is not None or codec != "lz4":
        return problem
    rest, skip = b"", 0
    for piece in chain((first,), stream):
        data, skip = rest + piece[skip:], max(0, skip - len(piece))
        at = 0
        while skip == 0 and at + _LZ4_HEADER.size <= len(data):
            magic, _, size, plain_size, _ = _LZ4_HEADER.unpack_from(data, at)
            if magic != b"LZ4Block" or size < 0 or plain_size < 0:
                return "the lz4 stream is cut off (a block has no header)"
            if plain_size == 0:
                return None
            at += _LZ4_HEADER.size + size
            skip = max(0, at - len(data))
        rest = data[at:]
    return "the lz4 stream is cut off"


def problem_of_all(pieces: Iterable[bytes], codec: str, decompressors: Mapping[str, Decompress]) -> str | None:
    """What is wrong with a file of any size, all of which is unpacked, a block at a time; see :func:`problem_of`.

    Args:
        pieces: The file, a piece at a time.
        codec: A short name; of others than lz4, whose blocks alone have checksums, only the first bytes are read.
        decompressors: Decompressors by the short name of their codec.
    """
    stream = iter(pieces)
    first = next(stream, b"")
    if (problem := problem_of_start(first, codec)) is not None or codec != SUMMED:
        return problem
    try:
        _walk_lz4(chain((first,), stream), decompressors.get(codec))
    except (ValueError, IndexError, EOFError, struct.error) as error:
        return f"{_DAMAGED} {codec} stream ({error})"
    return None


def _walk_lz4(pieces: Iterable[bytes], decompress: Decompress | None) -> None:
    """``LZ4BlockOutputStream``: blocks with a header each, and an empty one at the end. Raises ValueError.

    With ``decompress`` the checksum of each block and the end marker of what is in them are judged as well.
    """
    start, end = b"", b""
    for at, block, plain_size, checksum in _lz4_blocks(pieces):
        if decompress is not None:
            plain = decompress(block, plain_size)
            if xxhash32(plain, _LZ4_SEED) & 0x0FFFFFFF != checksum:
                raise ValueError(f"the block at byte {at} does not match its checksum")
            start, end = (start + plain[:4])[:4], (end + plain[-4:])[-4:]
    if decompress is not None:
        _require_end(start, end)


def _lz4_blocks(pieces: Iterable[bytes]) -> Iterator[tuple[int, bytes, int, int]]:
    """Each block but the empty one: where it begins, itself with its header, its plain size, its checksum."""
    data, begin = b"", 0
    for piece in pieces:
        data, at = data + piece, 0
        while at + _LZ4_HEADER.size <= len(data):
            magic, _, size, plain_size, checksum = _LZ4_HEADER.unpack_from(data, at)
            if magic != b"LZ4Block" or not 0 <= size <= _MOST_BLOCK_BYTES or plain_size < 0:
                raise ValueError(f"there is no block at byte {begin + at}")
            if plain_size == 0:
                return
            if (after := at + _LZ4_HEADER.size + size) > len(data):
                break
            yield begin + at, data[at:after], plain_size, checksum
            at = after
        data, begin = data[at:], begin + at
    raise ValueError("it ends early")


def _require_end(start: bytes | bytearray, end: bytes | bytearray) -> None:
    """The first and the last four plain bytes of a stream."""
    marker = b"\0" if start in _WITH_FAMILIES else b"\xff\xff\xff\xff"
    if not end.endswith(marker):
        raise ValueError("it does not have an end marker")


# --- the 32 bit xxHash, by which ``LZ4BlockOutputStream`` sums each block ---------------------------------------------
# The library ``xxhash`` does it; ``ckpt.pyz``, which cannot load it, does it in plain Python, a thousand times slower.

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
