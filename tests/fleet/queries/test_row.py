"""The exit code and the urgency of a row."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.errors import CheckpointNotFoundError, StoreUnavailableError
from airflow_provider_ckpt.fleet.queries.row import QueryRow, delay_of, exit_code_of, thresholds_of
from airflow_provider_ckpt.fleet.queries.thresholds import Threshold
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.query.query_parser import parse_query_file


def finding(severity: str) -> FleetRow:
    return FleetRow("c", findings=(Finding("CKPT101", severity, "it is broken"),))


PASSED, HOLDS, UNKNOWN = Threshold("age", 5, 6), Threshold("age", 5, 5), Threshold("age", 5, None, why="gone")


@pytest.mark.parametrize(
    ("row", "code", "urgency"),
    [
        (QueryRow("a", "c", checkpoint=FleetRow("c")), 0, 4),
        (QueryRow("a", "c", checkpoint=FleetRow("c"), thresholds=(HOLDS,)), 0, 4),
        (QueryRow("a", "c", checkpoint=FleetRow("c"), thresholds=(PASSED,)), 1, 1),
        (QueryRow("a", "c", checkpoint=FleetRow("c"), thresholds=(HOLDS, UNKNOWN)), 1, 1),
        (QueryRow("a", "c", checkpoint=finding("note")), 0, 3),
        (QueryRow("a", "c", checkpoint=finding("warning")), 0, 2),
        (QueryRow("a", "c", checkpoint=finding("error")), 1, 1),
        (QueryRow("a", "c", checkpoint=FleetRow("c", lag_error="no answer")), 1, 1),
        (QueryRow("a", "c", failure=CheckpointNotFoundError("gone"), thresholds=(UNKNOWN,)), 3, 0),
        (QueryRow("a", "c", failure=StoreUnavailableError("down")), 5, 0),
    ],
)
def test_a_row(row, code, urgency):
    assert (row.exit_code, row.urgency) == (code, urgency)


def test_the_worst_exit_code_counts():
    fine, gone = (
        QueryRow("a", "c", checkpoint=FleetRow("c")),
        QueryRow("b", "d", failure=CheckpointNotFoundError("gone")),
    )
    assert exit_code_of([]) == exit_code_of([fine]) == 0
    assert exit_code_of([fine, gone]) == 3


def test_its_document_has_the_error_and_the_checkpoint():
    document = QueryRow("b", "d", failure=CheckpointNotFoundError("gone")).to_dict()
    assert document["error"]["code"] == "NOT_FOUND" and document["checkpoint"] is None and document["running"] is None
    assert list(document)[-2:] == ["checkpoint", "error"]


def test_the_thresholds_of_a_checkpoint_say_why_they_are_not_known():
    file = parse_query_file("format_version: 1\nqueries: {a: {checkpoint: c, alert: {behind: 5m, age: 5m}}}")
    query = file.queries["a"]
    behind, age = thresholds_of(FleetRow("c", lag_error="b1 is silent."), query, file)
    assert (behind.why, age.why) == ("b1 is silent", "no batch is committed")
    assert {item.why for item in thresholds_of(FleetRow("c", error="gone."), query, file)} == {
        "the checkpoint could not be read: gone"
    }
    (behind, _) = thresholds_of(FleetRow("c"), query, file)
    assert behind.why == "its sources are not declared with what they read from"


def test_a_watermark_of_zero_is_none():
    assert delay_of(FleetRow("c", watermark_ms=0, planned_at_ms=9)) is None
    assert delay_of(FleetRow("c", watermark_ms=4)) is None
    assert delay_of(FleetRow("c", watermark_ms=4, planned_at_ms=9)) == 5


def test_a_source_that_cannot_be_asked_is_no_error_of_the_checkpoint():
    assert QueryRow("a", "c", checkpoint=finding("error")).has_errors
    assert not QueryRow("a", "c", checkpoint=FleetRow("c", lag_error="no answer")).has_errors
    assert not QueryRow("a", "c", failure=StoreUnavailableError("down")).has_errors
