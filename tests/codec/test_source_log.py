"""Logs of sources: which of Spark's formats a file is in, and what is none although it begins as one."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.codec import source_log
from airflow_provider_ckpt.codec.source_log import (
    MOST_UNUSUAL_LINES,
    FileSourceLog,
    InitialOffset,
    OpaqueFile,
    RateStart,
    newest_entry_in,
)
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import IncompleteLogFileError, MalformedEntryError, UnsupportedVersionError


def line(batch_id: int) -> str:
    return json.dumps({"path": "f", "timestamp": 1, "batchId": batch_id}, separators=(",", ":"))


@pytest.mark.parametrize(
    ("data", "read"),
    [
        (b"\0v1\n5", InitialOffset(SourceOffset("5"))),
        (b"\x02{}", InitialOffset(SourceOffset("{}"), "unversioned")),  # Spark 2.1.0: the length of the text, the text
        (b"\0{}", InitialOffset(SourceOffset("{}"), "unversioned")),  # readers pass over the first byte
        (b"{{}", InitialOffset(SourceOffset("{}"), "unversioned")),  # and over a length that is a bracket
        (b"\0v1\n{}\n", InitialOffset(SourceOffset("{}\n"))),
        (b'[{"a":1}]', OpaqueFile(b'[{"a":1}]')),  # JSON, so its first byte is no length
        (b"\0\1", OpaqueFile(b"\0\1")),
        (b"v1\n1700000000000", RateStart(1_700_000_000_000)),
        (b"v1", FileSourceLog(())),
        (b'{"a":1}', OpaqueFile(b'{"a":1}')),
        (b'v1\n{"a":1}', OpaqueFile(b'v1\n{"a":1}')),
    ],
)
def test_a_file_is_known_by_how_it_begins(data, read):
    decoded = source_log.decode(data, "sources/0/0")
    assert decoded == read and decoded.encode() == data


def test_the_files_of_a_file_source():
    read = source_log.decode(f"v1\n{line(0)}\n{line(1)}".encode(), "sources/0/1.compact")
    assert [entry.batch_id for entry in read.entries] == [0, 1]


KAFKA = SourceOffset('{"t":{"0":1}}')


@pytest.mark.parametrize(("made", "data"), [
    (InitialOffset(KAFKA), b'\0v1\n{"t":{"0":1}}'),
    (InitialOffset(KAFKA, "unversioned"), b'\x0d{"t":{"0":1}}'),
    (InitialOffset(SourceOffset('{"t":' + "9" * 293 + "}"), "unversioned"), b'\x2b{"t":' + b"9" * 293 + b"}"),
    (RateStart(5), b"v1\n5"), (FileSourceLog(()), b"v1"),
])  # fmt: skip
def test_a_made_file_is_written_as_spark_does_and_read_as_it_was_made(made, data):
    assert made.encode() == data and source_log.decode(data, "sources/0/0") == made


ICEBERG = '{"version":1,"snapshot_id":5,"position":3,"scan_all_files":false}'


@pytest.mark.parametrize("text", [ICEBERG, f" {ICEBERG}\n", '{"of":"another source"}'])
def test_the_initial_offset_of_iceberg_is_the_bare_text(text):
    made = InitialOffset(SourceOffset(text), "bare")
    assert made.encode() == text.encode() and codec.decode("sources/0/offsets/0", text.encode()) == made


@pytest.mark.parametrize(
    ("data", "error", "problem"),
    [
        (b"", IncompleteLogFileError, "the initial offset is empty"),
        (ICEBERG[:-3].encode(), MalformedEntryError, "the initial offset is not JSON"),
        (b'{"\xff":1}', MalformedEntryError, "not UTF-8 at byte 2"),
        (b'{"a":' + b"[" * 100_000, MalformedEntryError, "nested deeper"),
        (b'{"a":' + b"9" * 5_000 + b"}", MalformedEntryError, "a number"),
    ],
)
def test_an_initial_offset_that_its_source_does_not_read(data, error, problem):
    with pytest.raises(error, match=problem) as caught:
        codec.decode("sources/0/offsets/0", data)
    assert caught.value.name == "sources/0/offsets/0" and len(str(caught.value)) < 300


def test_what_is_no_object_there_is_of_another_source():
    assert codec.decode("sources/0/offsets/0", b"v1\n5") == OpaqueFile(b"v1\n5")


@pytest.mark.parametrize(
    ("data", "error", "problem"),
    [
        (b"", IncompleteLogFileError, "is empty"),
        (b"\0", IncompleteLogFileError, "the initial offset ends after its first byte"),
        (b"\0v1", MalformedEntryError, "the initial offset ends after its version line"),
        (b"\0v2\n5", UnsupportedVersionError, "initial offset entry has version v2"),
        (b"v2\n5", UnsupportedVersionError, "source log entry has version v2"),
        (b"v1\n5\n6", MalformedEntryError, "the log line is not a JSON object"),
        (b'v1\n{"path":"f"}', MalformedEntryError, "in the log line"),
    ],
)
def test_what_begins_as_a_log_of_spark_and_is_none(data, error, problem):
    with pytest.raises(error, match=problem):
        source_log.decode(data, "sources/0/0")


@pytest.mark.parametrize(
    ("lines", "newest"),
    [([], None), ([line(3), line(7), line(5)], 7), ([line(3).replace(",", ", ")], 3), ([line(9), f" {line(4)}"], 9)],
)
def test_the_newest_entry_of_a_log_that_is_too_large_to_hold(lines, newest):
    assert newest_entry_in([b"v1", *(text.encode() for text in lines)], "sources/0/9.compact") == newest


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("lines", "error"),
    [
        ([b"v2"], UnsupportedVersionError),
        ([], MalformedEntryError),
        ([b"v1", b"{}"], MalformedEntryError),
        ([b"v1", *[f" {line(1)}".encode()] * (MOST_UNUSUAL_LINES + 1)], MalformedEntryError),
    ],
    ids=["later", "empty", "no file", "too many unusual lines"],
)
def test_a_large_log_that_is_none(lines, error):
    with pytest.raises(error):
        newest_entry_in(lines, "sources/0/9.compact")
