"""Entries of the offset log: what Spark's ``OffsetSeqLog`` accepts, and what it stops at."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.codec import offset_log
from airflow_provider_ckpt.codec.offset_log import (
    CLOSING,
    MAX_SOURCES,
    ControlBatchInfo,
    OffsetSeq,
    OffsetSeqMetadata,
    SourceMetadataInfo,
)
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import (
    CheckpointClosedError,
    IncompleteLogFileError,
    MalformedEntryError,
    UnsupportedVersionError,
)

SOURCES = {"a": SourceMetadataInfo("a", "kafka", "DSv2")}
SOURCE_FIELDS = {"sourceId": "a", "providerName": "kafka", "apiVersion": "DSv2"}


def entry(version: int, *offsets: str, **metadata: object) -> bytes:
    return "\n".join([f"v{version}", json.dumps({"conf": {}, **metadata}), *offsets]).encode()


@pytest.mark.parametrize(
    ("data", "problem", "spark_error"),
    [
        (b"v1", "ends after its version line", "NoSuchElementException"),
        (b"x\n{}", "not a log version but 'x'", "MALFORMED_LOG_FILE"),
        (
            entry(2, "no colon"),
            "the entry has a line without a source id: 'no colon'",
            "IllegalStateException",
        ),
        (entry(1, *["-"] * (MAX_SOURCES + 1)), "more than 1,000 source offsets", None),
        (b"v2\n \na:-", "the metadata line is empty", None),
        (entry(1, conf={"k": [1]}), r"the conf 'k' is not a text but '\[1\]'", None),
        (entry(1, conf={"k": True}), "the conf 'k' is not a text but 'True'", None),
        (entry(1, conf=["k"]), "'conf' in the metadata line is not an object", None),
        (
            entry(2, sourceMetadataInfo={"a": 1}),
            "'sourceMetadataInfo' in the metadata line does not have an object",
            None,
        ),
        (entry(2, sourceMetadataInfo={"a": {}}), "'sourceId' in the sourceMetadataInfo of 'a' is not a text", None),
        (
            entry(2, controlBatchInfo={"operationInfo": "x"}),
            "'operationType' in the controlBatchInfo is not a text",
            None,
        ),
    ],
)
def test_what_spark_stops_at(data, problem, spark_error):
    with pytest.raises(MalformedEntryError, match=problem) as refused:
        offset_log.decode(data, "offsets/3")
    assert refused.value.name == "offsets/3" and (spark_error is None or refused.value.spark_error == spark_error)


def test_an_empty_entry_is_incomplete():
    with pytest.raises(IncompleteLogFileError):
        offset_log.decode(b"", "offsets/3")


@pytest.mark.parametrize("data", [b"v1\n\n5", b"v1\n  \n5", b"v1\nnull\n5"])
def test_version_1_may_have_no_metadata(data):
    read = offset_log.decode(data, "offsets/3")
    assert read.metadata is None and read.offset("0") == SourceOffset("5") and read.offset("1") is None


def test_as_many_sources_as_a_query_may_have_are_read():
    assert len(offset_log.decode(entry(1, *["-"] * MAX_SOURCES), "offsets/3").offsets) == MAX_SOURCES


def test_version_2_says_which_sources_there_are_and_which_operation_wrote_it():
    read = offset_log.decode(
        entry(
            2,
            "a:5",
            "b:-",
            sourceMetadataInfo={"a": SOURCE_FIELDS},
            controlBatchInfo={"operationType": "repartition", "operationInfo": "8"},
        ),
        "offsets/3",
    )
    assert dict(read.offsets) == {"a": SourceOffset("5"), "b": None}
    assert read.metadata.sources == SOURCES
    assert read.metadata.control == ControlBatchInfo("repartition", "8")


def test_version_1_knows_neither():
    read = offset_log.decode(entry(1, "5", sourceMetadataInfo={"a": 1}, controlBatchInfo={"operationType": "x"}), "n")
    assert read.metadata.sources == {} and read.metadata.control is None


@pytest.mark.parametrize("control", [None, ControlBatchInfo("repartition"), ControlBatchInfo("repartition", "8")])
@pytest.mark.parametrize("version", [1, 2])
def test_a_made_entry_is_read_as_it_was_made(version, control):
    metadata = OffsetSeqMetadata(
        5, 7, {"k": "v", "none": None}, SOURCES if version == 2 else {}, control if version == 2 else None
    )
    source_id = "a" if version == 2 else "0"
    made = OffsetSeq(version, metadata, ((source_id, SourceOffset("5")),))
    assert offset_log.decode(made.encode(), "n") == made


def test_a_read_metadata_line_is_written_as_it_was():
    spaced = b'v1\n{ "conf" : {} }\n5'
    read = offset_log.decode(spaced, "n")
    moved = OffsetSeq(1, read.metadata, (("0", SourceOffset("6")),))
    assert moved.encode() == b'v1\n{ "conf" : {} }\n6'


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (OffsetSeq(2, None, ()), "version 2 needs metadata"),
        (OffsetSeq(1, None, (("0", SourceOffset("1\n2")),)), "has a line break"),
        (OffsetSeq(2, OffsetSeqMetadata(), (("a\rb", None),)), "has a line break"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(made, problem):
    with pytest.raises(ValueError, match=problem):
        made.encode()


#: Metadata lines that begin as Spark's do, or nearly so.
LINES = (
    '{"batchWatermarkMs":0,"batchTimestampMs":17,"conf":{"a":"1","b":"2"}}',
    '{"batchWatermarkMs":-5,"batchTimestampMs":0,"conf":{}} and what follows',
    ' { "batchWatermarkMs" : 5 , "batchTimestampMs" : 6 , "conf" : {"a": "1"} } ',
    '{"batchWatermarkMs":05,"batchTimestampMs":6,"conf":{}}',
    '{"batchWatermarkMs":-0,"batchTimestampMs":6,"conf":{}}',
    '{"batchWatermarkMs":99999999999999999999,"batchTimestampMs":1.5,"conf":{}}',
    '{"batchWatermarkMs":1,"batchTimestampMs":2,}',
    '{"batchWatermarkMs":1,"batchTimestampMs":2,"conf":{"a":1,"b":null}}',
    '{"batchWatermarkMs":1,"batchTimestampMs":2,"conf":{"a":[]}}',
    '{"batchWatermarkMs":1,"batchTimestampMs":2,"conf":{"a":"1","a":"2"}}',
    '{"batchWatermarkMs":1,"batchTimestampMs":2,"conf":{},"conf":{}}',
    '{"batchWatermarkMs":1,"batchTimestampMs":2,"conf":{},"batchTimestampMs":3}',
    '{"batchWatermarkMs":1,"batchTimestampMs":2,"conf":{},"batchWatermark\\u004ds":3}',
    '{"batchWatermarkMs":1,"batchTimestampMs":2,"conf":{},"x":1,"x":2}',
    '{"batchWatermarkMs":1,"batchTimestampMs":2,"conf":null}',
    '{"batchWatermarkMs":1,"batchTimestampMs":2,"conf":7}',
    '{"batchWatermarkMs":1,"batchTimestampMs":2,"conf":{"a":"1"}',
    '{"batchWatermarkMs":1,"batchTimestampMs":2,"conf":' + '{"a":' * 300 + "}" * 300,
    '{"batchWatermarkMs":1,"batchTimestampMs":2,"conf":{"a":"' + "x" * 20_000 + '"}}',
    '{"batchWatermarkMs":1,"batchTimestampMs":2,"conf":{},"sourceMetadataInfo":{"a":{"sourceId":"a",'
    '"providerName":"kafka","apiVersion":"DSv2"}},"controlBatchInfo":{"operationType":"REPARTITION"}}',
    '{"batchWatermarkMs":1,"batchTimestampMs":2,"conf":{},"sourceMetadataInfo":{"a":{}}}',
)


def told(data: bytes) -> tuple[object, ...]:
    """What becomes of an entry: the value and its bytes, or the error."""
    try:
        read = offset_log.decode(data, "offsets/7")
    except MalformedEntryError as error:
        return type(error), str(error), error.spark_error
    return read, read.encode(), read.metadata.json(read.version) if read.metadata else None


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_a_line_that_begins_as_sparks_means_what_its_fields_mean(line, version, monkeypatch):
    """Its times are read for themselves, the rest once for many batches; nothing else may come of it for that."""
    data = f"v{version}\n{line}\na:5".encode()
    twice = told(data), told(data)
    monkeypatch.setattr(offset_log, "_metadata_by_times", lambda text, version: None)
    assert twice == (told(data),) * 2


def test_batches_with_the_same_confs_share_them():
    line = '{"batchWatermarkMs":0,"batchTimestampMs":%d,"conf":{"a":"1"}}'
    first, second = (offset_log.decode(f"v1\n{line % at}\n5".encode(), "n").metadata for at in (1, 2))
    assert first.conf is second.conf
    assert (first.batch_timestamp_ms, second.batch_timestamp_ms) == (1, 2)


def test_its_version_is_the_latest_that_java_can_count():
    assert CLOSING.startswith(b"v%d\n" % (2**31 - 1))


def test_it_is_named_as_what_it_is():
    with pytest.raises(CheckpointClosedError, match="a change by ckpt has not ended"):
        codec.decode("offsets/8", CLOSING)


@pytest.mark.parametrize("data", [CLOSING[:-1], CLOSING + b"-", b"v2147483647\n{}"], ids=["cut", "longer", "another"])
def test_any_other_entry_of_that_version_is_one_of_a_later_spark(data):
    with pytest.raises(UnsupportedVersionError) as caught:
        codec.decode("offsets/8", data)
    assert not isinstance(caught.value, CheckpointClosedError)
