"""Whether a state file is whole: a delta, a snapshot, a changelog, each from its first byte to its end marker.

All three are one compressed stream. What is in it ends with the int -1 in place of a key's length, or, in changelogs that
know column families (``v2``, and ``v4`` of state checkpoint format 2), with the record type 0.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from airflow_provider_ckpt.codec.state_file import Decompress
from airflow_provider_ckpt.codec.xxhash32 import xxhash32

#: Spark's short names, and the classes behind them.
CODECS = ("lz4", "lzf", "snappy", "zstd")
_CLASSES = {f"org.apache.spark.io.{name}compressioncodec": name for name in CODECS}
#: Larger files are judged by the frames of their compression alone: plain Python decompresses some MB a second.
DECOMPRESSED_UP_TO = 64 << 10
#: No file of that size becomes longer than this by any of Spark's codecs, but for one that is made to.
_MOST_PLAIN_BYTES = 32 << 20
_WITH_FAMILIES = (b"\0\2v2", b"\0\2v4")
_LZ4_SEED = 0x9747B28C
_LZ4_HEADER = struct.Struct("<8sBiii")


def short_codec(codec: str) -> str | None:
    """The short name of ``stateStore.compression.codec``; None for one that Spark does not bring."""
    name = codec.lower()
    return name if name in CODECS else _CLASSES.get(name)


def problem_of(data: bytes, codec: str, decompressors: Mapping[str, Decompress]) -> str | None:
    """What is wrong with a delta, snapshot or changelog, in words that follow "is"; None when it is whole.

    Args:
        data: The whole file.
        codec: A short name.
        decompressors: By short name. What is compressed otherwise is only seen not to be empty.
    """
    if not data:
        return "empty"
    try:
        small = len(data) <= DECOMPRESSED_UP_TO
        if codec == "lz4":
            _walk_lz4(data, decompressors[codec] if small else None)
        if codec in decompressors and small:
            _require_end(decompressors[codec](data, _MOST_PLAIN_BYTES))
    except (ValueError, IndexError, EOFError, struct.error) as error:
        return f"no whole {codec} stream ({error})"
    return None


def _walk_lz4(data: bytes, decompress: Decompress | None) -> None:
    """``LZ4BlockOutputStream``: blocks with a header each, and an empty one at the end. Raises ValueError."""
    at = 0
    while at + _LZ4_HEADER.size <= len(data):
        magic, _, size, plain_size, checksum = _LZ4_HEADER.unpack_from(data, at)
        if magic != b"LZ4Block" or size < 0 or plain_size < 0:
            raise ValueError(f"byte {at} begins no block")
        if plain_size == 0:
            return
        after = at + _LZ4_HEADER.size + size
        if decompress is not None and after <= len(data):
            plain = decompress(data[at:after], plain_size)
            if xxhash32(plain, _LZ4_SEED) & 0x0FFFFFFF != checksum:
                raise ValueError(f"the block at byte {at} does not fit its checksum")
        at = after
    raise ValueError("it ends early")


def _require_end(plain: bytes) -> None:
    end = b"\0" if plain.startswith(_WITH_FAMILIES) else b"\xff\xff\xff\xff"
    if not plain.endswith(end):
        raise ValueError("it lacks its end marker")
