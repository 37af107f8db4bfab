"""Logs of sources: which of Spark's formats a file is in, and what is none although it begins as one."""

from __future__ import annotations

import json

import pytest

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
        (b"\x05{}", InitialOffset(SourceOffset("{}"))),  # Spark 2.0 wrote the length of the text before it
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


@pytest.mark.parametrize("made", [InitialOffset(SourceOffset('{"t":1}')), RateStart(5), FileSourceLog(())])
def test_a_made_file_is_read_as_it_was_made(made):
    assert source_log.decode(made.encode(), "sources/0/0") == made


@pytest.mark.parametrize(
    ("data", "error", "problem"),
    [
        (b"", IncompleteLogFileError, "is empty"),
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
