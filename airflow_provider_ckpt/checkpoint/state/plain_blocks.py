"""LZ4 and Snappy blocks in plain Python, for ``ckpt.pyz``: no library in machine code can be loaded from inside a zip.

Everywhere else cramjam reads them; the tests hold both to the same answers.
"""

from __future__ import annotations


def lz4_block(block: bytes | memoryview, plain_size: int) -> bytes:
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


def snappy_block(block: bytes | memoryview, most: int) -> bytes:
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
