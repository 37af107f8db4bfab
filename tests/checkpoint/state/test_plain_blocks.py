"""Blocks in plain Python: the same answer as cramjam's, whatever the bytes."""

from __future__ import annotations

import cramjam
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.checkpoint.state import plain_blocks
from airflow_provider_ckpt.checkpoint.state.decompressors import MOST_BLOCK_BYTES, decompressors
from tests.state_streams import lz4_block, snappy_chunk

REFUSALS = (ValueError, IndexError)


plain_texts = st.binary(max_size=300) | st.text("ab", max_size=300).map(str.encode)


def by_cramjam(codec: str, stream: bytes) -> bytes | None:
    """The plain bytes; None for a refusal."""
    try:
        return decompressors()[codec](stream, 1 << 20)
    except ValueError:
        return None


@st.composite
def damaged_blocks(draw: st.DrawFn, codec: str) -> tuple[bytes, int]:
    """A block, whole or damaged, and how many plain bytes its header claims."""
    plain = draw(plain_texts)
    packed = (
        cramjam.lz4.compress_block(plain, store_size=False) if codec == "lz4" else cramjam.snappy.compress_raw(plain)
    )
    block = bytearray(bytes(packed))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(block)))
        end = at + draw(st.integers(0, 3))
        block[at:end] = draw(st.binary(max_size=3))
    return bytes(block), max(0, len(plain) + draw(st.sampled_from([0, 0, 0, -1, 1, 9])))


@given(damaged_blocks("snappy"))
def test_snappy_blocks_have_one_answer(case):
    block, _ = case
    try:
        expected = plain_blocks.snappy_block(block, MOST_BLOCK_BYTES)
    except REFUSALS:
        expected = None
    assert by_cramjam("snappy", snappy_chunk(block)) == expected


@given(damaged_blocks("lz4"))
def test_lz4_blocks_have_one_answer(case):
    """But for two things that no LZ4 writer does, and that Spark finds by the checksum of the block.

    The library refuses a block that does not end with a literal as the format asks, and reads a copy from distance 0.
    """
    block, size = case
    ours = by_cramjam("lz4", lz4_block(block, size))
    try:
        expected = plain_blocks.lz4_block(block, size) if size else b""
    except REFUSALS as error:
        assert ours is None or "a copy from outside" in str(error)
    else:
        assert ours in (None, expected)
        if block == bytes(cramjam.lz4.compress_block(expected, store_size=False)):
            assert ours == expected
