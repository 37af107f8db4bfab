"""Lines that are empty where Spark leaves none so: which they are, and what an entry is without them."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec import decode
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import EmptyLineError, MalformedEntryError

METADATA = '{"batchWatermarkMs":0,"batchTimestampMs":7,"conf":{}}'


def read(*lines: str, version: int = 1) -> OffsetSeq:
    data = "\n".join([f"v{version}", *lines]).encode()
    entry = decode("offsets/3", data)
    assert isinstance(entry, OffsetSeq)
    assert entry.encode() == data
    return entry


@pytest.mark.parametrize(
    ("lines", "empty"),
    [
        ([METADATA, "4", "5"], ()),
        ([METADATA, "-", "5"], ()),
        ([METADATA, "-", "-"], ()),
        ([METADATA, ""], ()),
        (["", '{"0":1}'], ()),
        ([METADATA, "", "4", "5"], (3,)),
        ([METADATA, "4", " \t", "5"], (4,)),
        ([METADATA, "-", "", "5"], (4,)),
        ([METADATA, "4", "5", "", "", ""], (5, 6)),
        (["", METADATA, "4", "5"], (2,)),
        (["", "", METADATA, "4", "", "5"], (2, 3, 6)),
        (["", '{"0":1}', "", '{"0":2}'], (4,)),
    ],
)
def test_which_lines_are_empty(lines, empty):
    entry = read(*lines)
    assert entry.empty_lines == empty
    left = [line for number, line in enumerate(lines, 2) if number not in empty]
    assert entry.without_empty_lines() == read(*left)


@pytest.mark.parametrize(
    ("name", "data", "said", "spark_error"),
    [
        ("offsets/3", f"v2\n{METADATA}\n\n0:4", "line 3 is empty", "IllegalStateException"),
        ("offsets/3", f"v2\n \n{METADATA}\n0:4\n", "line 2 is empty", "IllegalStateException"),
        ("offsets/3", f"\n\nv1\n{METADATA}\n4", "the lines 1, 2 are empty", "MALFORMED_LOG_FILE"),
        ("commits/3", '\nv1\n{"nextBatchWatermarkMs":0}', "line 1 is empty", "MALFORMED_LOG_FILE"),
        ("commits/3", '\r\nv1\r\n\r\n{"nextBatchWatermarkMs":0}', "the lines 1, 3 are empty", "MALFORMED_LOG_FILE"),
        ("sources/0/3", '\nv1\n{"path":"file:/a","timestamp":1,"batchId":3}', "line 1 is empty", "MALFORMED_LOG_FILE"),
    ],
)
def test_an_entry_that_cannot_be_read_for_its_empty_lines(name, data, said, spark_error):
    with pytest.raises(EmptyLineError, match=said) as raised:
        decode(name, data.encode())
    assert raised.value.spark_error == spark_error


@pytest.mark.parametrize("data", ["\n\n", "\nhello", f"\nv1\n{METADATA[:20]}", "v2\n\n0:4"])
def test_what_is_damaged_otherwise_is_no_such_entry(data):
    with pytest.raises(MalformedEntryError) as raised:
        decode("offsets/3", data.encode())
    assert not isinstance(raised.value, EmptyLineError)


@pytest.mark.parametrize("data", [b"\nhello", b"\n", b"\nv1\n5", b" v1"])
def test_files_of_other_sources_may_begin_with_anything(data):
    assert decode("sources/0/3", data).encode() == data
