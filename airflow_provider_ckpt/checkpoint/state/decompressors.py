"""Decompressors for state files: how Spark frames LZ4 and Snappy blocks, and cramjam for what is in them.

A state file may be damaged or made to harm: no header is believed before its sizes were checked, and no more memory is
taken than was asked for and one block (``MOST_BLOCK_BYTES``).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import partial

from airflow_provider_ckpt.checkpoint.state import plain_blocks
from airflow_provider_ckpt.codec.state_file import Decompress

#: A block of a compressed stream, plain or compressed; Spark writes blocks of 32 and 64 KiB.
MOST_BLOCK_BYTES = 4 << 20
#: Room for a zstd stream at first; more is taken where that is too little.
_FIRST_BYTES = 256 << 10
#: What cramjam says when the room that it was given is full. It writes all that fits before.
_FULL = "failed to write whole buffer"

#: Gives the plain bytes of an LZ4 block, which are so many, or of a Snappy block, which are so many at most.
_Block = Callable[[bytes | memoryview, int], bytes | bytearray]
_LZ4_HEADER = struct.Struct("<8sBiii")


def decompressors() -> Mapping[str, Decompress]:
    """All that can be read here, by the name of the codec in ``stateStore.compression.codec``."""
    try:
        import cramjam  # noqa: F401  # whether it is installed
    except ImportError:  # in ckpt.pyz
        return {
            "lz4": partial(_lz4, plain_blocks.lz4_block),
            "snappy": partial(_snappy, plain_blocks.snappy_block),
        }
    return {"lz4": partial(_lz4, _lz4_block), "snappy": partial(_snappy, _snappy_block), "zstd": _zstd}


def _lz4(decompress_block: _Block, data: bytes, wanted: int) -> bytes | bytearray:
    """``net.jpountz.lz4.LZ4BlockOutputStream``: a 21 byte header before each block."""
    pieces, at, left, view = list[bytes | bytearray](), 0, wanted, memoryview(data)
    while at + _LZ4_HEADER.size <= len(data) and left > 0:
        magic, token, size, plain_size, _ = _LZ4_HEADER.unpack_from(data, at)
        at += _LZ4_HEADER.size
        if magic != b"LZ4Block" or not 0 <= size <= MOST_BLOCK_BYTES or not 0 <= plain_size <= MOST_BLOCK_BYTES:
            raise ValueError("no LZ4 block")
        if plain_size == 0:
            break
        block = view[at : at + size]
        pieces.append(bytes(block) if token & 0xF0 == 0x10 else decompress_block(block, plain_size))
        at, left = at + size, left - len(pieces[-1])
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)  # one block at a time is judged: no more copies of it


def _snappy(decompress_block: _Block, data: bytes, wanted: int) -> bytes:
    """``org.xerial.snappy.SnappyOutputStream``: a 16 byte header, then chunks with their size before them."""
    if data[:8] != b"\x82SNAPPY\0":
        raise ValueError("no snappy stream")
    plain, at = bytearray(), 16
    while at + 4 <= len(data) and len(plain) < wanted:
        (size,) = struct.unpack(">I", data[at : at + 4])
        if size > MOST_BLOCK_BYTES:
            raise ValueError("no snappy block")
        plain += decompress_block(data[at + 4 : at + 4 + size], MOST_BLOCK_BYTES)
        at += 4 + size
    return bytes(plain)


def _lz4_block(block: bytes | memoryview, plain_size: int) -> bytearray:
    import cramjam

    plain = bytearray(plain_size)
    try:
        # not decompress_block, which fills a block that is too short with zeros, and does not say so
        written = cramjam.lz4.decompress_block_into(block, plain)
    except cramjam.DecompressionError as error:
        raise ValueError(f"not an LZ4 block: {error}") from error
    if written != plain_size:
        raise ValueError("an LZ4 block has another size than its header says")
    return plain


def _snappy_block(block: bytes | memoryview, most: int) -> bytes:
    import cramjam

    try:
        if cramjam.snappy.decompress_raw_len(block) > most:  # cramjam takes that much memory, whatever is in the block
            raise ValueError("not a snappy block: its header gives too large a size")
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise ValueError(f"not a snappy block: {error}") from error


def _zstd(data: bytes, wanted: int) -> bytearray:
    import cramjam

    for room in (min(wanted, _FIRST_BYTES), wanted):
        plain = bytearray(room)
        try:
            del plain[cramjam.zstd.decompress_into(data, plain) :]
            return plain
        except cramjam.DecompressionError as error:
            if str(error) != _FULL:
                raise ValueError(str(error)) from error
    return plain
