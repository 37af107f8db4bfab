"""Rules about the log of a file sink, each over a listing of it and the checkpoint's next batch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.checks import sink_log
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.errors import MalformedEntryError
from tests.views import sink_of, view_of

RULES = (
    sink_log.unreadable,
    sink_log.repeated,
    sink_log.changed,
    sink_log.folders,
    sink_log.partly_read,
    sink_log.orphaned_checksums,
)


def found(rule, last: int, **seen: object) -> list[Finding]:
    """What a rule finds when ``last`` is the newest batch of both logs, and this was seen of the sink's log."""
    return list(rule(replace(view_of(f"offsets/{last}", f"commits/{last}"), sink=replace(sink_of("0"), **seen))))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_without_a_sink_or_damage_nothing_is_found(rule):
    assert list(rule(view_of("offsets/0"))) == []
    assert found(rule, 0) == []


@pytest.mark.parametrize(("last", "compacting", "error"), [(7, 9, None), (8, 9, "TextParseError"), (9, 19, None)])
def test_an_unreadable_entry_stops_the_batch_that_compacts(last, compacting, error):
    damaged = {"_spark_metadata/3": MalformedEntryError("cut off", spark_error="TextParseError")}
    (finding,) = found(sink_log.unreadable, last, damaged=damaged)
    assert (finding.code, finding.severity, finding.name) == ("CKPT144", "error", "_spark_metadata/3")
    assert (finding.batch_id, finding.spark_error) == (compacting, error)
    assert f"so does batch {compacting}, which compacts the log" in finding.message


def test_an_entry_with_the_content_of_another():
    (finding,) = found(sink_log.repeated, 3, repeated={"_spark_metadata/2": "_spark_metadata/1"})
    assert (finding.code, finding.severity, finding.name) == ("CKPT145", "error", "_spark_metadata/2")
    assert "_spark_metadata/1 of the sink list the same file" in finding.message


def test_an_entry_that_does_not_fit_its_checksum_file():
    (finding,) = found(sink_log.changed, 3, stale=("_spark_metadata/2",))
    assert (finding.code, finding.severity, finding.name) == ("CKPT121", "warning", "_spark_metadata/2")


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("_spark_metadata/4", [(4, "IllegalStateException")]),
        ("_spark_metadata/4.compact", [(4, None)]),
        ("_spark_metadata/5", [(5, None)]),
        ("_spark_metadata/3", []),
        ("_spark_metadata/mine", []),
    ],
)
def test_a_directory_where_the_sink_writes(folder, expected):
    findings = found(sink_log.folders, 3, folders=(folder,))
    assert [(finding.batch_id, finding.spark_error) for finding in findings] == expected
    assert {(finding.code, finding.name) for finding in findings} <= {("CKPT115", folder)}


@pytest.mark.parametrize(
    ("unread", "text"),
    [
        (("_spark_metadata/2",), "_spark_metadata/2 of the sink was not read, because the log is too large"),
        (
            ("_spark_metadata/2", "_spark_metadata/3", "_spark_metadata/4"),
            "_spark_metadata/2 of the sink and 2 more was not read, because the log is too large",
        ),
    ],
)
def test_entries_that_were_not_read(unread, text):
    (finding,) = found(sink_log.partly_read, 4, unread=unread)
    assert (finding.code, finding.severity, finding.message) == ("CKPT144", "note", text)


@pytest.mark.parametrize(
    ("sidecar", "expected"),
    [
        (".4.crc", [(4, "_LEGACY_ERROR_TEMP_2207")]),
        (".5.crc", [(5, None)]),
        (".9.compact.crc", [(9, None)]),
        (".3.crc", []),  # a batch that is there, or was
        (".mine.crc", []),
    ],
)
def test_a_checksum_file_without_the_entry_that_the_sink_will_write(sidecar, expected):
    log = sink_of("0", "1", "2", "3", sidecar)
    findings = list(sink_log.orphaned_checksums(replace(view_of("offsets/3", "commits/3"), sink=log)))
    assert [(finding.batch_id, finding.spark_error) for finding in findings] == expected
