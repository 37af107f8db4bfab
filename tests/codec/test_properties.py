"""Arbitrary bytes give a value or a CheckpointFormatError, nothing else, and in good time."""

from __future__ import annotations

import os
import resource
import tarfile
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.backup import manifest
from airflow_provider_ckpt.checkpoint.state.decompressors import decompressors
from airflow_provider_ckpt.codec import layout, state_file
from airflow_provider_ckpt.codec.jvm_text import lines_of, parse_long
from airflow_provider_ckpt.codec.source_kinds import KINDS
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import BackupCorruptError, CheckpointFormatError
from tests.goldens import GOLDEN

NAMES = (
    "offsets/6",
    "commits/6",
    "metadata",
    "sources/0/3",
    "sources/0/9.compact",
    "_spark_metadata/3",
    "state/0/_metadata/metadata",
    "state/0/_metadata/v2/4",
    "offsets/.6.crc",
    "state/0/0/3_a-b.zip.crc",
    "state/0/0/3.delta",
)
HEADS = (
    b"",
    b"v1\n",
    b"v2\n",
    b"v3\n{}",
    b"v1\n{}\n",
    b'v1\n{"conf":',
    b"\0v1\n",
    b"crc\0\0\0\2\0",
    b'v2\n{"stateUniqueIds":{"0":',
)
json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.sampled_from(NAMES), st.sampled_from(HEADS), st.binary(max_size=200))
def test_any_bytes_are_a_value_or_a_format_error(name, head, tail):
    try:
        value = codec.decode(name, head + tail)
    except CheckpointFormatError as error:
        assert error.name == name
    else:
        assert value.encode() == head + tail


def whole_files() -> dict[str, tuple[str, bytes]]:
    """A whole file of each kind, as Spark 4.3 wrote it, by kind: its name, its bytes."""
    found: dict[str, tuple[str, bytes]] = {}
    for case in ("agg-hdfs", "agg-rocksdb-v2", "agg-rocksdb-changelog", "file-to-parquet-12"):
        with tarfile.open(GOLDEN / "spark-4.3.0" / f"{case}.tar.gz") as archive:
            for member in archive.getmembers():
                name = member.name.removeprefix("./").partition("/")[2]
                if member.isfile() and (file := archive.extractfile(member)) is not None:
                    place = layout.parse(name)
                    kind = getattr(place, "log", "") + type(place).__name__ + str(getattr(place, "hidden", ""))
                    found.setdefault(kind, (name, file.read()))
    return found


WHOLE = whole_files()


def test_there_is_a_whole_file_of_each_kind():
    assert {kind for kind in WHOLE if kind.startswith(("offsets", "commits"))} == {"offsetsLogEntry", "commitsLogEntry"}
    kinds = {"QueryMetadataFile", "SourceLogEntry", "SinkLogEntry", "StateFile", "StateTable", "OperatorMetadataFile"}
    assert WHOLE.keys() >= kinds | {"StateSchemaFile", "SidecarTrue", "SidecarFalse"}


@given(st.data())
@pytest.mark.parametrize("kind", WHOLE)
def test_a_file_that_is_cut_or_changed_is_a_value_or_an_error_that_names_it(kind, data):
    """What decodes encodes to the very bytes."""
    name, whole = WHOLE[kind]
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(len(whole), start + 40)))
    tail = b"" if data.draw(st.booleans()) else whole[end:]
    damaged = whole[:start] + data.draw(st.binary(max_size=40)) + tail
    try:
        value = codec.decode(name, damaged)
    except CheckpointFormatError as error:
        assert error.name == name and error.message
    else:
        assert value.encode() == damaged


@given(st.text(max_size=40))
def test_any_name_has_a_place(name):
    layout.parse(name)


@given(st.sampled_from(sorted(KINDS)), json_like)
def test_any_json_is_a_typed_offset_or_a_format_error(kind, value):
    import json

    try:
        offset = SourceOffset(json.dumps(value)).view(kind)
    except CheckpointFormatError:
        return
    for positions in offset.positions.values():
        assert all(isinstance(position, int) for position in positions)


@given(
    st.sampled_from(["lz4", "snappy", "zstd", "lzf"]),
    st.sampled_from([b"", b"LZ4Block", b"\x82SNAPPY\0" + bytes(8), b"(\xb5/\xfd"]),
    st.binary(max_size=100),
)
def test_any_bytes_are_a_lineage_or_a_format_error(compression, head, tail):
    with pytest.raises(CheckpointFormatError):
        state_file.read_lineage(head + tail, compression, "state/0/0/1_a.changelog", decompressors())


@given(st.binary(max_size=200))
def test_any_bytes_are_no_zip_but_a_format_error(data):
    with pytest.raises(CheckpointFormatError):
        state_file.read_zip(b"PK\x03\x04" + data, "state/0/0/1.zip")


@given(st.binary(max_size=200) | json_like.map(lambda value: str(value).encode()))
def test_any_bytes_are_no_manifest_but_a_backup_error(data):
    with pytest.raises(BackupCorruptError):
        manifest.decode(data, "x/manifest.json")


@given(st.text(alphabet="a\r\n\x0c\x85\u2028", max_size=30))
def test_lines_are_those_of_a_buffered_reader(text):
    lines = list(lines_of(text))
    assert "".join(lines) == text.replace("\r", "").replace("\n", "")
    assert len(lines) == len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n")) - (
        1 if not text or text[-1] in "\r\n" else 0
    )


@given(st.integers(min_value=-(2**64), max_value=2**64))
def test_longs_are_those_of_java(number):
    assert parse_long(str(number)) == (number if -(2**63) <= number < 2**63 else None)


#: Of the garbage, in bytes.
SIZE = 100_000_000 if os.environ.get("CKPT_EXHAUSTIVE") else 10_000_000


def peak_bytes() -> int:
    """The most memory that this process has had so far."""
    return 1000 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.parametrize("name", NAMES[:7])
@pytest.mark.parametrize("piece", [b"\0", b"x", b"\n", b"[", b"{", b'"', b"v1\n", b'{"a":', b"9"])
def test_megabytes_of_garbage_are_refused_in_good_time(name, piece):
    data = b"v1\n" + piece * (SIZE // len(piece))
    peak, started = peak_bytes(), time.thread_time()
    try:
        codec.decode(name, data)  # Spark takes some of it: an offset entry with a line of NULs has no metadata
    except CheckpointFormatError as error:
        assert len(str(error)) < 400, "the message does not quote the garbage"
    assert time.thread_time() - started < SIZE / 5_000_000, "seconds of this thread alone, whatever else runs"
    assert peak_bytes() - peak < 40 * SIZE
