"""Entries of the commit log of version 3: exactly one of the sinks that a query ever had is the active one."""

from __future__ import annotations

import json
import re

import pytest

from airflow_provider_ckpt.codec import commit_log
from airflow_provider_ckpt.errors import MalformedEntryError


def entry(**active: bool) -> bytes:
    """An entry with sinks of these names."""
    fields = {"commitOffset": "-", "providerName": "p", "apiVersion": "DSv1"}
    sinks = {name: {"sinkName": name, **fields, "isActive": is_active} for name, is_active in active.items()}
    return b"v3\n" + json.dumps({"sinkMetadataMap": sinks}).encode()


def test_one_sink_is_active():
    read = commit_log.decode(entry(lake=False, archive=True), "commits/3")
    assert [sink.sink_name for sink in read.sinks.values() if sink.is_active] == ["archive"]


@pytest.mark.parametrize("active", [{}, {"lake": False}, {"lake": True, "archive": True}])
def test_none_and_several_are_refused(active):
    with pytest.raises(MalformedEntryError, match="exactly one active sink") as refused:
        commit_log.decode(entry(**active), "commits/3")
    assert (refused.value.name, refused.value.spark_error) == ("commits/3", "IllegalArgumentException")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"v1\nnull", "the metadata line is null"),
        (
            b'v2\n{"stateUniqueIds":{"x":[]}}',
            "'stateUniqueIds' in the metadata line has an operator that is not a number: 'x'",
        ),
        (b'v2\n{"stateUniqueIds":{"0":{}}}', "does not have a list of lists"),
        (b'v2\n{"stateUniqueIds":{"0":["id"]}}', "does not have a list of lists"),
        (b'v2\n{"stateUniqueIds":{"0":[[null]]}}', "has an id that is not a text"),
        (b"v3\n{}", "'sinkMetadataMap' in the metadata line is missing"),
        (b'v3\n{"sinkMetadataMap":{"lake":1}}', "does not have an object for 'lake'"),
        (b'v3\n{"sinkMetadataMap":{"lake":{"sinkName":"lake"}}}', "'commitOffset' in the sink 'lake' is not a text"),
    ],
)
def test_what_spark_stops_at(data, problem):
    with pytest.raises(MalformedEntryError, match=problem) as refused:
        commit_log.decode(data, "commits/3")
    assert refused.value.name == "commits/3"


@pytest.mark.parametrize(
    ("line", "ids"),
    [
        (b"{}", None),
        (b'{"stateUniqueIds":null}', None),
        (b'{"stateUniqueIds":[]}', {}),
        (b'{"stateUniqueIds":{"0":[["a","b"],[7]]}}', {0: (("a", "b"), ("7",))}),
    ],
)
def test_the_ids_of_state_files_by_operator_partition_and_store(line, ids):
    assert commit_log.decode(b"v2\n" + line, "commits/3").state_unique_ids == ids


def test_version_1_has_no_ids_of_state_files():
    assert commit_log.decode(b'v1\n{"stateUniqueIds":{"0":[["a"]]}}', "commits/3").state_unique_ids is None


@pytest.mark.parametrize("version", ["v1", "v2", "v3", "v01", " v1"])
@pytest.mark.parametrize(
    "line",
    [
        '{"nextBatchWatermarkMs":0}',
        '{ "nextBatchWatermarkMs" : -17 }',
        '{"nextBatchWatermarkMs":007}',
        '{"nextBatchWatermarkMs":-0}',
        '{"nextBatchWatermarkMs":1.5}',
        '{"nextBatchWatermarkMs":9223372036854775808}',
        '{"nextBatchWatermarkMs":1}\n',
        '{"nextBatchWatermarkMs":1} {"nextBatchWatermarkMs":2}',
        '{"nextBatchWatermarkMs":1,"nextBatchWatermarkMs":2}',
        '{"nextBatchWatermarkMs":1,"stateUniqueIds":{"0":[["a"]]}}',
    ],
)
def test_an_entry_that_is_nothing_but_a_watermark_means_what_its_fields_mean(line, version, monkeypatch):
    def told() -> tuple[object, ...]:
        try:
            read = commit_log.decode(f"{version}\n{line}".encode(), "commits/3")
        except MalformedEntryError as error:
            return type(error), str(error), error.spark_error
        return read, read.encode()

    quickly = told()
    monkeypatch.setattr(commit_log, "_PLAIN", re.compile(b"(?!)"))
    assert quickly == told()
