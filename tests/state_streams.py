"""State files as Spark writes them, made without Spark."""

from __future__ import annotations

import struct

from airflow_provider_ckpt.codec.state_content import xxhash32

SEED = 0x9747B28C
END = struct.pack(">i", -1)


def lz4_stream(plain: bytes, block: int = 1000) -> bytes:
    """As ``LZ4BlockOutputStream`` writes what cannot be compressed."""
    parts = [plain[at : at + block] for at in range(0, len(plain), block)] + [b""]
    return b"".join(
        struct.pack(
            "<8sBiiI", b"LZ4Block", 0x10, len(part), len(part), xxhash32(part, SEED) & 0x0FFFFFFF if part else 0
        )
        + part
        for part in parts
    )


def lz4_block(block: bytes, plain_size: int) -> bytes:
    """The start of a stream whose first block claims so many plain bytes."""
    return struct.pack("<8sBiii", b"LZ4Block", 0x26, len(block), plain_size, 0) + block


def snappy_chunk(block: bytes) -> bytes:
    """As ``SnappyOutputStream`` writes one block."""
    return b"\x82SNAPPY\0" + bytes(8) + struct.pack(">I", len(block)) + block


def delta(content: bytes) -> bytes:
    """A delta or a snapshot that is whole, whatever is in it."""
    return lz4_stream(content + END)


def delta_of_size(size: int) -> bytes:
    """A whole delta of so many bytes, 46 at least."""
    return delta(bytes(size - len(delta(b""))))
