"""The index: what a row keeps, and that a file is read back as it was written, or refused."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.fleet.index import (
    MOST_LINE,
    MOST_LOCATION,
    STATES,
    FleetIndex,
    IndexRow,
    LastBackup,
    decode,
    index_row,
)
from airflow_provider_ckpt.fleet.row import BatchRate, FleetRow
from airflow_provider_ckpt.sources.lag import PartitionLag, SourceLag

FULL = FleetRow(
    "s3://lake/orders",
    "17ea636e-0000",
    8,
    7,
    8,
    1_000,
    5_000,
    (
        Finding("CKPT300", "note", "a note"),
        Finding("CKPT102", "error", "the entry\nis <b>damaged</b> " + "x" * 500),
        Finding("CKPT103", "error", "another"),
    ),
    decision="block",
    planned_at_ms=61_000,
    last_commit_ms=62_000,
    sources=(
        SourceLag("0", "kafka", "offsets", 5, (PartitionLag("t", 0, 1, 6, 5, lost=2),), age_ms=9),
        SourceLag("1", "kafka", "offsets", 7, age_ms=11),
        SourceLag("2", "file", "files", 3),
        SourceLag("3", "rate"),
    ),
    rate=BatchRate(0, 100, (1, 2, 3)),
)


def test_a_row_is_what_the_page_needs_of_a_checkpoint():
    row = index_row(FULL).with_backup(LastBackup("20261121T050000.000Z-17ea636e", 6, 60_000))
    assert (row.location, row.query_id, row.latest_planned_batch, row.in_flight) == (FULL.location, FULL.query_id, 8, 8)
    assert (row.last_commit_ms, row.watermark_ms, row.watermark_lag_ms) == (62_000, 1_000, 60_000)
    assert (row.offsets, row.files, row.versions, row.snapshots) == (12, 3, None, None)
    assert (row.age_ms, row.lost) == (11, 2)
    assert (row.errors, row.warnings, row.notes) == (2, None, 1)
    assert (row.worst, row.worst_code, row.decision) == ("error", "CKPT102", "block")
    assert row.worst_message.startswith(r"the entry\nis <b>damaged</b> xxx") and len(row.worst_message) == 300
    assert (row.backup_id, row.backup_batch, row.backup_ms) == ("20261121T050000.000Z-17ea636e", 6, 60_000)
    assert row.rate == FULL.rate


@pytest.mark.parametrize(
    ("row", "state"),
    [
        (FleetRow("a", error="no permission"), "not readable"),
        (FleetRow("a", replaced_by="b"), "replaced"),
        (FleetRow("a", latest_planned_batch=3, latest_committed_batch=2, in_flight=3), "in flight"),
        (FleetRow("a", latest_planned_batch=3, latest_committed_batch=3), "committed"),
        (FleetRow("a", latest_planned_batch=3, latest_committed_batch=2, in_flight=3, stalled_ms=9), "stalled"),
        (FleetRow("a"), "no commit"),
        (FleetRow("a", latest_planned_batch=3, latest_committed_batch=3, lag_error="no broker"), "committed"),
    ],
)
def test_a_row_is_in_one_state(row, state):
    assert index_row(row).state == state
    assert state in STATES


def test_a_file_is_read_back():
    rows = (index_row(FULL), IndexRow("/data/\U0001f600 'ü\"<", query_id="q"), IndexRow("b", error="e" * 300))
    index = FleetIndex(5, 6, ("s3://lake",), rows)
    assert decode(index.encode()) == index
    assert decode(FleetIndex(0, 0, (), ()).encode()).rows == ()


_VALUES = {"str": st.text(max_size=40), "int": st.integers(-(2**62), 2**62)}


@given(
    st.fixed_dictionaries(
        {"location": st.text(min_size=1, max_size=50)},
        optional={
            field.name: _VALUES[str(field.type)[:3]]
            for field in fields(IndexRow)
            if str(field.type)[:3] in _VALUES and field.name != "location"
        },
    )
)
def test_any_row_is_read_back(given_fields):
    index = FleetIndex(1, 2, (), (IndexRow(**given_fields),))
    assert decode(index.encode()) == index


def test_the_longest_row_fits_a_line():
    row = index_row(FleetRow("a" * MOST_LOCATION, error="\U0001f600" * 999, replaced_by="b" * 9_999))
    (_, line) = FleetIndex(0, 0, (), (row,)).encode().splitlines()
    assert len(line) < MOST_LINE


def test_what_a_later_release_adds_is_passed_over():
    head, line = FleetIndex(1, 2, ("r",), (IndexRow("a"),)).encode().splitlines()
    line = json.dumps({**json.loads(line), "new": {"a": [1]}})
    head = json.dumps({**json.loads(head), "new": 1})
    assert decode(f"{head}\n{line}\n".encode()).rows == (IndexRow("a"),)


HEAD = {"format_version": 1, "began_at_ms": 1, "written_at_ms": 2, "roots": [], "rows": 1}
ROW = {"location": "a"}


@pytest.mark.parametrize(
    ("head", "row", "why"),
    [
        ({"format_version": 2}, {}, "the index has version 2; this release reads version 1"),
        ({"format_version": True}, {}, "the index has version True"),
        ({"rows": 2}, {}, "the index has 1 rows, and says 2"),
        ({"rows": "1"}, {}, "says '1'"),
        ({"roots": "s3://lake"}, {}, "names no roots"),
        ({"roots": [1]}, {}, "names no roots"),
        ({"began_at_ms": None}, {}, "began_at_ms of the index is not a whole number"),
        ({}, {"location": ""}, "line 2 of the index has a text that is none, or no location"),
        ({}, {"location": 5}, "line 2 of the index has a text that is none"),
        ({}, {"worst": ["error"]}, "line 2 of the index has a text that is none"),
        ({}, {"in_flight": True}, "in_flight of the index is not a whole number: True"),
        ({}, {"in_flight": 1.5}, "not a whole number"),
        ({}, {"in_flight": 2**63}, "not a whole number"),
        ({}, {"rate": []}, "a batch rate that is none"),
        (
            {},
            {"rate": {"from_ms": 0, "until_ms": 1, "batches": [10**400]}},
            "line 2 of the index: the batch rate is not",
        ),
        ({}, {"rate": {"batches": [1]}}, "whole numbers"),
    ],
)
def test_what_is_no_index_is_refused(head, row, why):
    data = f"{json.dumps({**HEAD, **head})}\n{json.dumps({**ROW, **row})}\n"
    with pytest.raises(ValueError, match=why.replace("[", r"\[")):
        decode(data.encode())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b"nonsense",
        json.dumps(HEAD).encode() + b"\n" + b"[" * 9_000,
        json.dumps(HEAD).encode() + b'\n{"location": "' + b"a" * MOST_LINE + b'"}',
        json.dumps(HEAD).encode() + b'\n{"location": "a"',
    ],
    ids=len,
)
def test_any_other_bytes_are_refused(data):
    with pytest.raises(ValueError, match="index|codec"):
        decode(data)
