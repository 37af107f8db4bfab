"""Compressed state streams, small and large, whole and cut."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.state.decompressors import decompressors
from airflow_provider_ckpt.codec.state_content import (
    DECOMPRESSED_UP_TO,
    holds_nothing,
    plain_xxhash32,
    problem_of,
    problem_of_all,
    problem_of_blocks,
    short_codec,
    xxhash32,
)
from tests.state_streams import END, lz4_stream


@pytest.mark.parametrize(
    ("data", "digest"),
    [
        (b"", 0x02CC5D05),
        (b"a", 0x550D7456),
        (b"abc", 0x32D153FF),
        (b"Nobody inspects the spammish repetition", 0xE2293B2F),
    ],
)
def test_the_hash_is_that_of_its_reference(data, digest):
    assert xxhash32(data, 0) == plain_xxhash32(data, 0) == digest


@pytest.mark.parametrize("size", [0, 3, 15, 16, 17, 31, 100, 1000])
def test_the_library_and_plain_python_hash_alike(size):
    data = bytes(number * 37 % 256 for number in range(size))
    assert plain_xxhash32(data, 0x9747B28C) == xxhash32(data, 0x9747B28C) == xxhash32(bytearray(data), 0x9747B28C)


def test_a_small_stream_is_read_to_its_end_marker():
    whole = lz4_stream(bytes(range(256)) * 20 + END)
    assert problem_of(whole, "lz4", decompressors()) is None
    assert all(problem_of(whole[:cut], "lz4", decompressors()) for cut in range(0, len(whole), 7))
    assert "end marker" in (problem_of(lz4_stream(b"no marker"), "lz4", decompressors()) or "")
    turned = bytearray(whole)
    turned[1500] ^= 1
    assert "checksum" in (problem_of(bytes(turned), "lz4", decompressors()) or "")
    assert problem_of(whole, "snappy", decompressors()) == "not a snappy stream, which is the codec of the offset log"


@pytest.mark.parametrize("block", [1, 2, 3, 5, 1000])
@pytest.mark.parametrize(("plain", "problem"), [
    (b"some rows" + END, None),
    (b"some rows" + END[:3], "a damaged or cut off lz4 stream (it does not have an end marker)"),
    (END, None),
    (b"\0\2v2 and records\0", None),
    (b"\0\2v2 and records", "a damaged or cut off lz4 stream (it does not have an end marker)"),
    (b"\0\2v3 and records\0", "a damaged or cut off lz4 stream (it does not have an end marker)"),
])  # fmt: skip
def test_the_start_and_the_end_of_a_stream_may_be_in_several_blocks(plain, problem, block):
    assert problem_of(lz4_stream(plain, block), "lz4", decompressors()) == problem


@pytest.mark.parametrize("piece", [8, 20, 21, 999, 70_000])
def test_a_large_stream_is_followed_from_block_to_block(piece):
    whole = lz4_stream(bytes(3 * DECOMPRESSED_UP_TO) + END, block=30_000)

    def pieces(data: bytes):
        return (data[at : at + piece] for at in range(0, len(data), piece))

    assert problem_of_blocks(pieces(whole), "lz4") is None
    for cut in (0, 20, 21, 30_021, 100_000, len(whole) - 21, len(whole) - 1):
        assert problem_of_blocks(pieces(whole[:cut]), "lz4"), cut
    assert problem_of_blocks(pieces(whole[:30_021] + b"x" + whole[30_022:]), "lz4")


@pytest.mark.parametrize("piece", [8, 20, 21, 999, 70_000, 1 << 20])
def test_a_large_stream_is_unpacked_block_by_block(piece):
    whole = lz4_stream(bytes(3 * DECOMPRESSED_UP_TO) + END, block=30_000)

    def problem(data: bytes, codec: str = "lz4") -> str | None:
        pieces = (data[at : at + piece] for at in range(0, len(data), piece))
        return problem_of_all(pieces, codec, decompressors())

    assert problem(whole) is problem(whole + b"\n") is None, "Spark reads nothing behind the last block"
    for cut in (0, 20, 21, 30_021, 100_000, len(whole) - 21, len(whole) - 1):
        assert problem(whole[:cut]), cut
    assert "block at byte 30021 does not match its checksum" in (problem(whole[:50_000] + b"x" + whole[50_001:]) or "")
    assert "no block at byte 30021" in (problem(whole[:30_021] + b"x" + whole[30_022:]) or "")
    assert "end marker" in (problem(lz4_stream(bytes(100_000), block=30_000)) or "")
    assert problem(b"\x28\xb5\x2f\xfd" + bytes(100_000), "zstd") is None, "it sums nothing"
    assert problem(whole, "zstd") == "not a zstd stream, which is the codec of the offset log"


@pytest.mark.parametrize(
    ("conf", "codec"),
    [
        ("lz4", "lz4"),
        ("LZ4", "lz4"),
        ("org.apache.spark.io.ZStdCompressionCodec", "zstd"),
        ("nocodec", None),
        ("", None),
    ],
)
def test_codecs_by_their_names(conf, codec):
    assert short_codec(conf) == codec


@pytest.mark.parametrize(
    ("plain", "is_empty"),
    [(END, True), (b"\0\2v2\0", True), (b"\0\0\0\1a" + END, False), (b"\0\2v2\1\0", False), (b"", False)],
)
def test_a_stream_without_any_key_is_its_end_marker(plain, is_empty):
    assert holds_nothing(lz4_stream(plain), "lz4", decompressors()) is is_empty


def test_what_cannot_be_unpacked_may_hold_anything():
    assert not holds_nothing(lz4_stream(END), "lzf", decompressors())
    assert not holds_nothing(b"LZ4Block" + bytes(40), "lz4", decompressors())
