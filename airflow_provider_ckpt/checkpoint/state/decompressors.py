"""Decompressors for state files: how Spark frames LZ4 and Snappy blocks, and cramjam for what is in them.

A state file may be damaged or made to harm: no header is believed before its sizes were checked, and no more memory is
taken than was asked for and one block (``MOST_BLOCK_BYTES``).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import partial

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
            "lz4": partial(_lz4, plain_lz4_block),
            "snappy": partial(_snappy, plain_snappy_block),
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


# --- in ckpt.pyz, from inside of which no library in machine code can be loaded ---------------------------------------


def plain_lz4_block(block: bytes | memoryview, plain_size: int) -> bytes:
    """The plain bytes of an LZ4 block. Raises ValueError, or IndexError when it ends early."""
    plain, at = bytearray(), 0
    while at < len(block):
        token = block[at]
        size, at = _lz4_length(block, at + 1, token >> 4)
        if len(plain) + size > plain_size:
            raise ValueError("an LZ4 block has another size than its header says")
        plain += block[at : at + size]
        at += size
        if at >= len(block):
            break
        distance = block[at] | block[at + 1] << 8
        size, at = _lz4_length(block, at + 2, token & 15)
        _repeat(plain, distance, size + 4, plain_size)
    if len(plain) != plain_size:
        raise ValueError("an LZ4 block has another size than its header says")
    return bytes(plain)


def _lz4_length(block: bytes | memoryview, at: int, nibble: int) -> tuple[int, int]:
    if nibble < 15:
        return nibble, at
    size = nibble
    while True:
        size += block[at]
        at += 1
        if block[at - 1] != 255:
            return size, at


def plain_snappy_block(block: bytes | memoryview, most: int) -> bytes:
    """The plain bytes of a Snappy block, ``most`` at most. Raises ValueError, or IndexError when it ends early."""
    plain_size, at = _snappy_varint(block)
    plain = bytearray()
    while at < len(block) and len(plain) <= plain_size <= most:
        tag = block[at]
        kind = tag & 3
        if kind == 0:
            size = tag >> 2
            extra = max(0, size - 59)
            if extra:
                size = int.from_bytes(block[at + 1 : at + 1 + extra], "little")
            literal = block[at + 1 + extra : at + 2 + extra + size]
            if len(literal) <= size:
                raise ValueError("a snappy block ends early")
            plain += literal
            at += 2 + extra + size
        elif kind == 1:
            _repeat(plain, (tag >> 5) << 8 | block[at + 1], (tag >> 2 & 7) + 4, plain_size)
            at += 2
        else:
            width = 2 if kind == 2 else 4
            if at + 1 + width > len(block):
                raise ValueError("a snappy block ends early")
            distance = int.from_bytes(block[at + 1 : at + 1 + width], "little")
            _repeat(plain, distance, (tag >> 2) + 1, plain_size)
            at += 1 + width
    if len(plain) != plain_size:
        raise ValueError("a snappy block has another size than its header says")
    return bytes(plain)


def _snappy_varint(block: bytes | memoryview) -> tuple[int, int]:
    value = shift = at = 0
    while True:
        value |= (block[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not block[at - 1] & 0x80:
            return value, at
        if at == 5:
            raise ValueError("no snappy block")


def _repeat(plain: bytearray, distance: int, size: int, limit: int) -> None:
    """Append ``size`` bytes that are ``distance`` back; the two may overlap."""
    start = len(plain) - distance
    if distance == 0 or start < 0 or len(plain) + size > limit:
        raise ValueError("a snappy block refers to bytes outside of it")
    piece = bytes(plain[start : start + size])
    plain += (piece * (size // len(piece) + 1))[:size]
