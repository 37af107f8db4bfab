"""The table of a fleet: paths below their common root, equal errors once."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.report.fleet_tables import common_root, fleet_tables


@pytest.mark.parametrize(("count", "rows"), [(3, 3), (50, 1)])
def test_equal_errors_of_many_directories_are_one_row(count, rows):
    same = [FleetRow(f"/lake/q{number}", error=f"/lake/q{number}: permission denied.") for number in range(count)]
    (table,) = fleet_tables([*same, FleetRow("/lake/other", error="/lake/other: storage failed.")])
    assert len(table.rows) == rows + 1 and table.title == "Checkpoints below /lake/"
    if rows == 1:
        named, why = table.rows[0][0]
        assert (named, why.strip()) == (
            "50 directories: q0, q1, q2 and 47 more; --json lists them all",
            "permission denied.",
        )


def test_each_code_is_told_once_in_words_worst_first_however_many_checkpoints_have_it():
    twice = (Finding("CKPT118", "warning", "batch 3."), Finding("CKPT118", "warning", "batch 4."))
    rows = [FleetRow(f"/lake/q{number}", findings=twice) for number in range(300)]
    rows.append(FleetRow("/lake/damaged", findings=(Finding("CKPT102", "error", "no JSON."),)))
    fleet, codes = fleet_tables(rows)
    assert len(fleet.rows) == 301
    assert codes.rows == (
        ("CKPT102", "error", 1, "Malformed entry"),
        ("CKPT118", "warning", 300, "Watermark goes backwards"),
    )


@pytest.mark.parametrize(("copies", "is_below"), [(3, True), (4, False)])
def test_the_code_of_a_note_that_many_checkpoints_have_is_in_the_second_table_alone(copies, is_below):
    copy, torn = Finding("CKPT159", "note", "a copy."), Finding("CKPT102", "error", "no JSON.")
    rows = [FleetRow(f"/lake/q{number}", findings=(copy,)) for number in range(1, copies)]
    fleet, codes = fleet_tables([FleetRow("/lake/q0", findings=(torn, copy)), *rows])
    worst = fleet.columns.index("worst")
    assert [row[worst] for row in fleet.rows] == ["error", *["note"] * (copies - 1)]
    below = [row[0] for row in fleet.rows]
    if is_below:
        assert below[:2] == [("q0", "  CKPT102, CKPT159"), ("q1", "  CKPT159")]
    else:
        assert below[:2] == [("q0", "  CKPT102"), "q1"]
    assert [row[:3] for row in codes.rows] == [("CKPT102", "error", 1), ("CKPT159", "note", copies)]


@pytest.mark.parametrize(
    ("locations", "root"),
    [
        (["s3://lake/a/q", "s3://lake/b/q"], "s3://lake/"),
        (["s3://lake/a", "s3://lake/a/v1"], "s3://lake/"),
        (["s3://one/a", "s3://two/a"], ""),
        (["/lake/a", "s3://lake/a"], ""),
        (["/lake/ab", "/lake/ac"], "/lake/"),
        (["/lake/a"], ""),
    ],
)
def test_the_root_that_all_have_in_common(locations, root):
    assert common_root(locations) == root
