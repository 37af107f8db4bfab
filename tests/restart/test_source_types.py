"""What a source of a declared type stops at: its own files, and its offsets. All pairs are in tests/oracle/test_types.py."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.restart import sources
from airflow_provider_ckpt.restart.source_types import offset_problem, own_files
from tests.views import offset_entry, view_of

KAFKA_BEGAN = b'\0v1\n{"orders":{"0":1}}'
RATE_BEGAN = b"v1\n1795213217587"


def files_log(*entries: int) -> bytes:
    lines = (json.dumps({"path": f"file:///in/{n}", "timestamp": 1, "batchId": n}) for n in entries)
    return "\n".join(["v1", *lines]).encode()


def entry(version: int, *offsets: str) -> bytes:
    return "\n".join([f"v{version}", '{"conf":{}}', *offsets]).encode()


def deploy(**kinds: str | None) -> DeploySpec:
    return DeploySpec(sources=tuple(Source(name, kind) for name, kind in kinds.items()))


def stops(findings: list[Finding]) -> list[tuple[str | None, str | None]]:
    return [(finding.name, finding.spark_error) for finding in findings]


@pytest.mark.parametrize(
    ("kind", "log", "error"),
    [
        ("rate", files_log(0), "NumberFormatException"),
        ("rate", KAFKA_BEGAN, "IllegalStateException"),
        ("rate", RATE_BEGAN, None),
        ("rate", RATE_BEGAN + b"\n", "NumberFormatException"),
        ("rate", b"v1", "IllegalStateException"),
        ("kafka", files_log(0), None),
        ("rate-micro-batch", files_log(0), None),
        ("delta", files_log(0), None),
    ],
)
def test_a_source_reads_what_it_keeps_for_itself_first(kind, log, error):
    view = view_of(**{"offsets/0": offset_entry(0), "sources/0/0": log})
    assert stops(list(own_files(view, deploy(**{"0": kind})))) == ([("sources/0/0", error)] if error else [])


def test_kafka_reads_where_it_began_when_it_has_no_offset():
    began = {"offsets/0": entry(1, "-"), "sources/0/0": files_log(0)}
    assert stops(list(own_files(view_of(**began), deploy(**{"0": "kafka"})))) == [
        ("sources/0/0", "IllegalArgumentException")
    ]
    began["sources/0/0"] = KAFKA_BEGAN
    assert list(own_files(view_of(**began), deploy(**{"0": "kafka"}))) == []


def test_before_the_first_batch_is_planned_the_logs_are_judged_as_well():
    view = view_of(**{"sources/orders/0": RATE_BEGAN, "sources/pages/0": files_log(0)})
    found = list(own_files(view, deploy(orders="file", pages="rate")))
    assert stops(found) == [
        ("sources/orders/0", "MappingException"),
        ("sources/pages/0", "NumberFormatException"),
    ]
    assert "not what a rate source such as source pages of the deploy writes there" in found[1].message


def test_what_iceberg_keeps_is_elsewhere():
    view = view_of(**{"sources/0/offsets/0": b'{"version":2}', "sources/0/0": RATE_BEGAN})
    assert stops(list(own_files(view, deploy(**{"0": "iceberg"})))) == [
        ("sources/0/offsets/0", "IllegalArgumentException")
    ]


def test_the_log_of_a_file_source_is_that_of_no_other_type():
    """Of a Kafka source the log that a file source has left is not read, whatever is missing in it."""
    view = view_of(**{"offsets/0": offset_entry(0), "offsets/1": offset_entry(5), "sources/0/0": files_log(0)})
    assert [item.code for item in sources.source_findings(view, deploy(**{"0": "file"}))] == ["CKPT123"]
    assert list(sources.source_findings(view, deploy(**{"0": "kafka"}))) == []
    assert [item.code for item in sources.source_findings(view, deploy(**{"0": None}))] == ["CKPT123"]


def test_a_number_is_the_offset_of_a_file_source_where_one_is_declared():
    view = view_of(**{"offsets/0": entry(1, "0"), "offsets/1": entry(1, "3"), "sources/0/0": RATE_BEGAN})
    (unread,) = [item for item in sources.source_findings(view, deploy(**{"0": "file"})) if item.code == "CKPT102"]
    assert (unread.name, unread.spark_error) == ("sources/0/0", "MappingException")
    assert list(sources.source_findings(view, deploy(**{"0": "rate"}))) == []


@pytest.mark.parametrize(
    ("kind", "text", "error"),
    [
        ("delta", "[1", "JsonEOFException"),
        ("iceberg", "hello", "JsonParseException"),
        ("socket", "{}", "NumberFormatException"),
        ("kinesis", "hello", "JsonParseException"),
        ("hudi", "{}", "MappingException"),
    ],
)
def test_an_offset_of_another_form_stops_each_type_in_its_own_way(kind, text, error):
    problem = offset_problem(kind, text)
    assert problem is not None and problem[1] == error
