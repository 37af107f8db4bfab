"""What was found of several sources of tables."""

from __future__ import annotations

import shlex

import pytest

from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.query.source import parse_source
from airflow_provider_ckpt.sources.table_loss import TableAtRestart, TableLosses, all_losses

FIRST, SECOND = Finding("CKPT255", "error", "first"), Finding("CKPT257", "error", "second")


@pytest.mark.parametrize(
    ("losses", "together"),
    [
        ([], TableLosses()),
        ([TableLosses((FIRST,), ("a",), 7), TableLosses((SECOND,), ("b", "a"), 5)], TableLosses((FIRST, SECOND), ("a", "b"), 5)),
        ([TableLosses(expires_ms=0), TableLosses()], TableLosses(expires_ms=0)),
    ],
)  # fmt: skip
def test_sources_are_taken_together(losses, together):
    assert all_losses(losses) == together


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("s3://lake/orders", "s3://lake/orders"),
        ("http://ann:secret@host/t", "http://ann@host/t"),
        ("https://host/t?sv=1&sig=abcdef", "https://host/t?sv=1&sig=***"),
    ],
)
def test_a_place_is_shown_without_its_secrets(place, shown):
    at = TableAtRestart("/c", "0", parse_source(f"delta:{place}"), 1, SourceOffset("{}"), now_ms=0)
    assert (at.shown_place, at.shown_source) == (shown, f"--source {shlex.quote(f'0=delta:{shown}')}")


def test_without_the_time_no_expiry_can_be_told():
    with pytest.raises(TypeError, match="now_ms"):
        TableAtRestart("/c", "0", parse_source("delta:/t"), 1, SourceOffset("{}"))


@pytest.mark.parametrize(("value", "is_set"), [("true", True), ("TRUE", True), ("false", False), (None, False)])
def test_an_option_is_set_to_true(value, is_set):
    options = {} if value is None else {"ignoredeletes": value}
    at = TableAtRestart("/c", "0", parse_source("delta:/t"), 1, SourceOffset("{}"), options=options, now_ms=0)
    assert at.sets("ignoredeletes") is is_set
