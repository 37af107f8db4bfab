"""Checkpoints with one query id: what each of them is told."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.fleet.twins import Twin, groups_of, with_twins

LIVE, COPY = FleetRow("/live", "q", 7, 7, planned_at_ms=7), FleetRow("/copy", "q", 3, 3, planned_at_ms=3)
SAME, NEW = FleetRow("/copy", "q", 7, 7, planned_at_ms=7), FleetRow("/copy", "q")


def test_rows_with_one_query_id_are_together_the_newest_first():
    others = [FleetRow("/x", "x"), FleetRow("/none"), FleetRow("/old", "q", replaced_by="/live")]
    assert groups_of([COPY, *others, LIVE]) == [[LIVE, COPY]]
    assert groups_of([LIVE, LIVE]) == [], "one that was found twice"


@pytest.mark.parametrize(
    ("twin", "code", "severity", "of_live", "of_copy"),
    [
        (Twin(COPY, LIVE, "ran"), "CKPT158", "warning", "both have run since", "both have run since"),
        (Twin(COPY, LIVE, "ran", one_table=True), "CKPT158", "error", "the same table", "the same table"),
        (Twin(COPY, LIVE, "unknown"), "CKPT158", "warning", "could not be compared", "could not be compared"),
        (Twin(COPY, LIVE, "rests"), "CKPT159", "note", "/copy has", "this one is still at batch 3"),
        (
            Twin(NEW, LIVE, "rests"),
            "CKPT159",
            "note",
            "is still before the first batch",
            "before the first batch of it",
        ),
        (
            Twin(SAME, LIVE, "rests"),
            "CKPT159",
            "note",
            "/copy has the same query id and is at batch 7 as",
            "at batch 7 as",
        ),
    ],
)
def test_both_rows_say_it(twin, code, severity, of_live, of_copy):
    found = with_twins([twin])
    assert {(item.code, item.severity) for row in found.values() for item in row.findings} == {(code, severity)}
    assert of_live in found["/live"].findings[0].message and of_copy in found["/copy"].findings[0].message
