"""Compressed streams of state: cramjam gives what plain Python gives, and no input makes either take much memory."""

from __future__ import annotations

import struct
import subprocess
import sys
import tarfile
import tracemalloc

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.checkpoint.state.decompressors import (
    MOST_BLOCK_BYTES,
    decompressors,
    plain_lz4_block,
    plain_snappy_block,
)
from airflow_provider_ckpt.codec.state_file import Decompress
from tests.goldens import GOLDEN
from tests.hostile import lz4_bomb, snappy_bomb, zstd_bomb
from tests.state_streams import lz4_block, lz4_stream, snappy_chunk

ALL = 32 << 20
#: What a decompressor raises; its callers make a typed error of it.
REFUSALS = (ValueError, IndexError, struct.error)
#: A stream begins so, by codec.
MAGIC = {"lz4": b"LZ4Block", "snappy": b"\x82SNAPPY\0", "zstd": b"\x28\xb5\x2f\xfd"}


@pytest.fixture
def of_one_file(monkeypatch) -> dict[str, Decompress]:
    """The decompressors of ``ckpt.pyz``, which has no cramjam."""
    return _without_cramjam(monkeypatch)


def _without_cramjam(monkeypatch) -> dict[str, Decompress]:
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "cramjam", None)
        return dict(decompressors())


def outcome(decompress: Decompress, data: bytes, wanted: int = ALL) -> bytes | None:
    """The plain bytes; None for a refusal."""
    try:
        return bytes(decompress(data, wanted))
    except REFUSALS:
        return None


def recorded_streams() -> list[tuple[str, bytes]]:
    """Each compressed state file of the goldens of every Spark: its codec, its bytes."""
    found = []
    for archive in sorted(GOLDEN.glob("spark-*/*.tar.gz")):
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.isfile() and "/state/" in member.name and (file := tar.extractfile(member)):
                    data = file.read()
                    found += [(codec, data) for codec, magic in MAGIC.items() if data.startswith(magic)]
    return found


@pytest.mark.sweep
def test_every_recorded_state_file_is_read_alike_with_and_without_cramjam(of_one_file):
    streams = recorded_streams()
    counted = {codec: sum(found == codec for found, _ in streams) for codec in MAGIC}
    assert counted["lz4"] > 500
    assert counted["snappy"] >= 10
    assert counted["zstd"] >= 10
    ours = decompressors()
    for codec, data in streams:
        plain = outcome(ours[codec], data)
        assert plain, codec
        if codec in of_one_file:
            assert plain == of_one_file[codec](data, ALL)
        for wanted in (2, 6, len(plain) // 2):
            assert plain.startswith(bytes(ours[codec](data, wanted)[:wanted]))


def test_the_one_file_reads_what_needs_no_library(of_one_file):
    assert sorted(of_one_file) == ["lz4", "snappy"]
    assert sorted(decompressors()) == ["lz4", "snappy", "zstd"]


@given(st.binary(max_size=300), st.integers(0, 400), st.binary(max_size=4))
def test_a_damaged_zstd_stream_gives_true_bytes_or_an_error(plain, cut, tail):
    whole = bytes(cramjam.zstd.compress(plain))
    read = decompressors()["zstd"]
    assert read(whole, ALL) == plain
    assert outcome(read, whole[:cut]) in (None, plain)
    assert outcome(read, whole + tail) in (None, plain)
    assert outcome(read, whole + whole) == plain * 2, "frames one after another are one stream, as for Spark"


# --- sizes are checked before anything is believed ---------------------------------------------------------------------

BOMBS = {
    "lz4 block of 2 GiB": ("lz4", lz4_bomb()),
    "lz4 block of 4 MiB with nothing in it": ("lz4", lz4_block(b"\x50hello", MOST_BLOCK_BYTES)),
    "lz4 block that is longer than its header": ("lz4", lz4_block(b"\x1f\0\1\0" + b"\xff" * (1 << 20) + b"\0", MOST_BLOCK_BYTES)),
    "lz4 block of a negative size": ("lz4", struct.pack("<8sBiii", MAGIC["lz4"], 0x26, -1, 1, 0)),
    "snappy block of 4 GiB": ("snappy", snappy_bomb()),
    "snappy block of 2^63": ("snappy", snappy_chunk(b"\xff" * 8 + b"\x7f" + b"\0a")),
    "snappy chunk of 4 GiB": ("snappy", MAGIC["snappy"] + bytes(8) + b"\xff" * 4),
    "snappy block of 4 MiB with nothing in it": ("snappy", snappy_chunk(b"\x80\x80\x80\x02\0a")),
    "zstd frame with a window of 1 GiB": ("zstd", MAGIC["zstd"] + b"\0\xa0" + b"\3\0\0"),
    "zstd frame of 4 EiB": ("zstd", MAGIC["zstd"] + b"\xe0" + (1 << 62).to_bytes(8, "little") + b"\3\0\0"),
    "zstd frame that ends in its header": ("zstd", MAGIC["zstd"]),
    "zstd frame that ends early": ("zstd", zstd_bomb()[:10]),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_header_that_claims_much_is_refused(name):
    codec, data = BOMBS[name]
    with pytest.raises(REFUSALS):
        decompressors()[codec](data, ALL)


@pytest.mark.parametrize("wanted", [2, 100_000, 1 << 20, ALL])
def test_of_a_bomb_only_what_is_wanted_is_unpacked(wanted):
    tracemalloc.start()
    try:
        plain = decompressors()["zstd"](zstd_bomb(), wanted)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert plain == b"\xff" * wanted
    assert most < wanted + (1 << 20)


@pytest.mark.sweep
def test_no_bomb_takes_memory_in_the_library_either():
    """A process of its own, because tracemalloc does not see what a library allocates."""
    program = """
import resource, sys
from tests.checkpoint.state.test_decompressors import ALL, BOMBS, outcome, zstd_bomb
from airflow_provider_ckpt.checkpoint.state.decompressors import decompressors
used = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
before, read = used(), decompressors()
for codec, data in BOMBS.values():
    assert outcome(read[codec], data) is None
small = used() - before
assert len(read["zstd"](zstd_bomb(), ALL)) == ALL
print(small, used() - before)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    small, with_plain = map(int, done.stdout.split())
    assert small < 24, "MB, for headers that claim gigabytes"
    assert with_plain < (ALL >> 20) + 24, "MB, for a bomb of 1 GiB"


@given(st.sampled_from(sorted(MAGIC)), st.binary(max_size=100), st.integers(2, 1 << 16))
def test_any_bytes_give_plain_bytes_or_a_refusal(codec, tail, wanted):
    head = MAGIC[codec] + (bytes(8) if codec == "snappy" else b"")
    for data in (tail, head + tail):
        plain = outcome(decompressors()[codec], data, wanted)
        assert plain is None or len(plain) < wanted + MOST_BLOCK_BYTES


def test_a_stream_ends_at_its_empty_block():
    assert decompressors()["lz4"](lz4_stream(b"plain") + b"what follows", ALL) == b"plain"


BLOCK_REFUSALS = (ValueError, IndexError)


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
        expected = plain_snappy_block(block, MOST_BLOCK_BYTES)
    except BLOCK_REFUSALS:
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
        expected = plain_lz4_block(block, size) if size else b""
    except BLOCK_REFUSALS as error:
        assert ours is None or "a copy from outside" in str(error)
    else:
        assert ours in (None, expected)
        if block == bytes(cramjam.lz4.compress_block(expected, store_size=False)):
            assert ours == expected
