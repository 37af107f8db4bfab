"""Checksum files of Hadoop and of Spark: which bytes are those that were summed, and what is no checksum file."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.codec.checksum import (
    HadoopChecksum,
    SparkChecksum,
    crc32c,
    decode_hadoop,
    decode_spark,
)
from airflow_provider_ckpt.errors import IncompleteLogFileError, MalformedEntryError

DATA = bytes(range(256)) * 5
SPARK = {"algorithm": "CRC32C", "value": 1, "mainFileSize": 2, "timestampMs": 3, "creator": "c"}


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("size", [1, 511, 512, 513, 5_000])
@pytest.mark.parametrize("data", [b"", b"x", DATA[:512], DATA[:1024], DATA])
def test_bytes_in_pieces_match_as_a_whole(data, size):
    for checksum in (HadoopChecksum.of(data), SparkChecksum("CRC32C", crc32c(data), len(data), 0, None)):
        assert checksum.matches(data) and checksum.matches_chunks(pieces(data, size))
        for other in (data + b"x", data[:-1] + b"?", data[1:] + b"?" * 513):
            assert not checksum.matches(other) and not checksum.matches_chunks(pieces(other, size))


def test_what_hadoop_writes_is_read_again():
    checksum = HadoopChecksum.of(DATA)
    assert decode_hadoop(checksum.encode(), ".1.crc") == checksum
    assert [checksum.fits_size(size) for size in (1_024, 1_025, 1_280, 1_536, 1_537)] == [
        False,
        True,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("data", [b"crc\0\0\0", b"crc\0\0\0\2\0\0", b"CRC\0\0\0\2\0", b"crc\0\0\0\0\0"])
def test_what_is_no_checksum_file_of_hadoop(data):
    with pytest.raises(MalformedEntryError, match="checksum file") as refused:
        decode_hadoop(data, ".1.crc")
    assert refused.value.name == ".1.crc"


@pytest.mark.parametrize("decode", [decode_hadoop, decode_spark])
def test_an_empty_checksum_file_is_incomplete(decode):
    with pytest.raises(IncompleteLogFileError, match="the checksum file is empty"):
        decode(b"", "1.crc")


def test_what_spark_writes_is_read_again():
    checksum = decode_spark(json.dumps(SPARK).encode(), "1.crc")
    assert checksum == SparkChecksum("CRC32C", 1, 2, 3, "c")
    assert decode_spark(SparkChecksum("CRC32C", 1, 2, 3, "c").encode(), "1.crc") == checksum


def test_the_algorithm_that_is_named_changes_no_sum():
    """Spark sums by CRC-32C whatever the file names."""
    data = b"123456789"
    named = SPARK | {"algorithm": "MD5", "value": crc32c(data) - 2**32, "mainFileSize": len(data)}
    assert decode_spark(json.dumps(named).encode(), "1.crc").matches(data)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"mainFileSize": "x"}, "'mainFileSize' in the checksum file is no"),
        ({"value": "x"}, "'value' in the checksum file is no"),
    ],
)
def test_what_is_no_checksum_file_of_spark(fields, problem):
    with pytest.raises(MalformedEntryError, match=problem):
        decode_spark(json.dumps(SPARK | fields).encode(), "1.crc")
