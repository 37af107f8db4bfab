"""Hundreds of entries, with `make exhaustive` thousands, through our codec and through Spark's own classes: same verdict, same values, same bytes.

Where we differ on purpose stands in one table, DIFFERENCES, with the reason; anything else is a failure.
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.codec.jvm_text import MAX_JSON_DEPTH, lines_of, trim
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import CheckpointFormatError
from tests.differential import entries
from tests.differential.spark_logs import SparkLogs, canonical

pytestmark = pytest.mark.spark

ENTRIES = 10_000 if os.environ.get("CKPT_EXHAUSTIVE") else 150


def metadata_line(data: bytes) -> Any:
    """The JSON of the second line, or None when it is none."""
    try:
        lines = list(lines_of(data.decode()))
        return json.JSONDecoder().raw_decode(trim(lines[1]))[0]
    except (ValueError, IndexError, RecursionError):
        return None


def odd_optional(data: bytes) -> bool:
    fields = metadata_line(data)
    return isinstance(fields, dict) and any(
        (key in fields and not isinstance(fields[key], dict)) or _is_odd(key, fields.get(key))
        for key in ("stateUniqueIds", "controlBatchInfo")
    )


def _is_odd(key: str, value: Any) -> bool:
    if key == "controlBatchInfo":
        return isinstance(value, dict) and not isinstance(value.get("operationType"), str)
    return isinstance(value, dict) and not all(
        isinstance(stores, list) and all(isinstance(item, str) for item in stores)
        for partitions in value.values()
        for stores in (partitions if isinstance(partitions, list) else [None])
    )


def incomplete_sink_or_source(data: bytes) -> bool:
    fields = metadata_line(data)
    if not isinstance(fields, dict):
        return False
    wanted = {
        "sinkMetadataMap": {"sinkName", "commitOffset", "providerName", "apiVersion", "isActive"},
        "sourceMetadataInfo": {"sourceId", "providerName", "apiVersion"},
    }
    return any(
        isinstance(item, dict) and not keys <= {key for key, value in item.items() if value is not None}
        for group, keys in wanted.items()
        if isinstance(fields.get(group), dict)
        for item in fields[group].values()
    )


def deep(data: bytes) -> bool:
    return data.count(b"{") + data.count(b"[") > MAX_JSON_DEPTH


def torn_text_after_line_two(data: bytes) -> bool:
    lines = re.split(rb"\r\n|\r|\n", data)
    try:
        b"\n".join(lines[:2]).decode()
    except UnicodeDecodeError:
        return False
    return len(lines) > 2


@dataclasses.dataclass(frozen=True)
class Difference:
    """A place where we refuse what Spark accepts."""

    name: str
    reason: str
    applies: Callable[[bytes], bool]


DIFFERENCES = (
    Difference(
        "an optional field of another shape",
        "Spark reads stateUniqueIds and controlBatchInfo of a wrong shape as absent; without the ids it would look for "
        "state files of format 1.",
        odd_optional,
    ),
    Difference(
        "a sink or source with a field missing or null",
        "json4s then tries another constructor, and sometimes makes up a value; a null fails when it is used.",
        incomplete_sink_or_source,
    ),
    Difference(
        "JSON nested deeper than 200 levels",
        "Jackson stops at 1,000; Spark never nests deeper than 6, and Python's parser recurses.",
        deep,
    ),
    Difference(
        "more than 1,000 sources",
        "No query has as many; it is a file full of newlines, and would fill the memory of a triggerer.",
        lambda data: data.count(b"\n") + data.count(b"\r") > 1_000,
    ),
    Difference(
        "text that is not UTF-8 behind the second line of a commit",
        "Spark does not read on, unless its buffer happens to; we read the whole file.",
        torn_text_after_line_two,
    ),
)


@pytest.fixture(scope="module")
def logs(spark) -> SparkLogs:
    return SparkLogs(spark)


def rebuilt(value: Any) -> bytes:
    """What we would write for a value of our own."""
    if isinstance(value, OffsetSeq) and value.metadata:
        value = dataclasses.replace(value, metadata=dataclasses.replace(value.metadata))
    return dataclasses.replace(value).encode()


def compare(logs: SparkLogs, log: str, data: bytes) -> str:
    """Let both read one entry; the outcome, for the count."""
    verdict = logs.read(log, data)
    try:
        value = codec.decode(f"{log}/6", data)
    except CheckpointFormatError as error:
        if not verdict.accepted:
            return "both refuse"
        known = [difference.name for difference in DIFFERENCES if difference.applies(data)]
        assert known, f"Spark accepts, we refuse ({error}): {data!r}"
        return known[0]
    assert value.encode() == data
    if (verdict.error or "").startswith("write: "):
        return "Spark reads it, and fails when it uses it"
    assert verdict.written is not None, f"we accept, Spark refuses with {verdict.error}: {data!r}"
    assert canonical(rebuilt(value)) == canonical(verdict.written), data
    return "both accept"


@pytest.mark.parametrize("log", ["offsets", "commits"])
def test_sound_entries_give_the_same_values_and_bytes(logs, log):
    rng = random.Random(f"sound {log}")
    make = entries.offset_entry if log == "offsets" else entries.commit_entry
    outcomes = Counter(compare(logs, log, make(rng)) for _ in range(ENTRIES))
    assert outcomes["both accept"] > 0.9 * ENTRIES, outcomes


@pytest.mark.parametrize("log", ["offsets", "commits"])
def test_mutated_entries_are_accepted_and_refused_alike(logs, log):
    rng = random.Random(f"mutated {log}")
    make = entries.offset_entry if log == "offsets" else entries.commit_entry
    outcomes = Counter(compare(logs, log, entries.mutate(rng, make(rng))) for _ in range(ENTRIES))
    assert outcomes["both accept"] > 0.1 * ENTRIES and outcomes["both refuse"] > 0.1 * ENTRIES, outcomes


SPECIAL = {
    "empty": b"",
    "version alone": b"v1",
    "version and newline": b"v1\n",
    "no metadata": b"v1\n\n{}",
    "no metadata in v2": b"v2\n\n0:5",
    "CRLF": b'v1\r\n{}\r\n{"a":1}\r\n',
    "one trailing newline": b"v1\n{}\n5\n",
    "an empty line is a source": b"v1\n{}\n5\n\n",
    "an empty line in v2": b"v2\n{}\n0:5\n\n",
    "byte order mark": b"\xef\xbb\xbfv1\n{}\n5",
    "leading zeros in the version": b"v01\n{}\n5",
    "an Arabic version": "v\u0661\n{}\n5".encode(),
    "a later version": b"v9\n{}\n5",
    "a version above int": b"v99999999999\n{}\n5",
    "form feed is no line break": b"v1\n{}\n5\x0c6",
    "watermark as text": b'v1\n{"batchWatermarkMs":"5"}\n5',
    "watermark null": b'v1\n{"batchWatermarkMs":null}\n5',
    "watermark as fraction": b'v1\n{"batchWatermarkMs":5.7}\n5',
    "watermark beyond long": b'v1\n{"batchWatermarkMs":9223372036854775808}\n5',
    "watermark 1e400": b'v1\n{"batchWatermarkMs":1e400}\n5',
    "watermark twice": b'v1\n{"batchWatermarkMs":5,"batchWatermarkMs":6}\n5',
    "NaN": b'v1\n{"batchWatermarkMs":NaN}\n5',
    "conf as a number": b'v1\n{"conf":{"a":5,"b":5.50,"c":1e10,"d":1.5e-7}}\n5',
    "conf true": b'v1\n{"conf":{"a":true}}\n5',
    "conf an object": b'v1\n{"conf":{"a":{}}}\n5',
    "conf null": b'v1\n{"conf":{"a":null}}\n5',
    "no conf": b'v1\n{"conf":null}\n5',
    "conf an array": b'v1\n{"conf":[]}\n5',
    "conf key twice": b'v1\n{"conf":{"a":"1","a":"2"}}\n5',
    "garbage after the object": b"v1\n{} x\n5",
    "half a surrogate pair": b'v1\n{"conf":{"a":"\\ud800"}}\n5',
    "source id twice": b"v2\n{}\n0:5\n0:6",
    "line without a source id": b"v2\n{}\n05",
    "source metadata without a field": b'v2\n{"sourceMetadataInfo":{"0":{"sourceId":"0"}}}\n0:5',
    "control batch": b'v2\n{"controlBatchInfo":{"operationType":"REWIND"}}\n0:5',
    "a long number": b'v1\n{"x":' + b"1" * 1001 + b"}\n5",
}
SPECIAL_COMMITS = {
    "empty": b"",
    "version alone": b"v1",
    "spaces around the version": b" v1 \n{}",
    "a blank second line": b"v1\n \n{}",
    "more lines": b"v1\n{}\nfoo\nbar",
    "ids": b'v2\n{"nextBatchWatermarkMs":5,"stateUniqueIds":{"0":[["a"],["b"]]}}',
    "operator 07": b'v2\n{"stateUniqueIds":{"07":[["a"]]}}',
    "operator x": b'v2\n{"stateUniqueIds":{"x":[["a"]]}}',
    "ids in v1": b'v1\n{"stateUniqueIds":{"0":[["a"]]}}',
    "numbers as ids": b'v2\n{"stateUniqueIds":{"0":[[5]]}}',
    "v3 without sinks": b"v3\n{}",
    "v3 without an active sink": b'v3\n{"sinkMetadataMap":{"m":{"sinkName":"m","commitOffset":"-","providerName":"p","apiVersion":"D","isActive":false}}}',
    "v3 without a commit offset": b'v3\n{"sinkMetadataMap":{"m":{"sinkName":"m","providerName":"p","apiVersion":"D","isActive":true}}}',
    "v3 without a provider": b'v3\n{"sinkMetadataMap":{"m":{"sinkName":"m","commitOffset":"-","apiVersion":"D","isActive":true}}}',
    "a later version": b"v4\n{}",
}


@pytest.mark.parametrize(
    ("log", "data"),
    [("offsets", data) for data in SPECIAL.values()] + [("commits", data) for data in SPECIAL_COMMITS.values()],
    ids=[*SPECIAL, *(f"commit: {name}" for name in SPECIAL_COMMITS)],
)
def test_special_entries(logs, log, data):
    compare(logs, log, data)


@pytest.mark.parametrize(
    "data",
    [
        b'v2\n{"controlBatchInfo":5}\n0:5',
        b'v1\n{"x":' + b"[" * 300 + b"]" * 300 + b"}\n5",
        b"v1\n{}" + b"\n5" * 10_001,
    ],
)
def test_each_difference_is_one(logs, data):
    """Spark accepts, we refuse: when this fails, a row of DIFFERENCES has to go."""
    assert logs.read("offsets", data).accepted
    with pytest.raises(CheckpointFormatError):
        codec.decode("offsets/6", data)


def test_a_commit_with_torn_text_is_accepted_by_spark_alone(logs):
    data = b"v1\n{}\n" + b"x" * 20000 + b"\xff"
    assert logs.read("commits", data).accepted
    with pytest.raises(CheckpointFormatError):
        codec.decode("commits/6", data)
