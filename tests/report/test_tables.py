"""Tables of findings and of backups: how many rows people are shown, and which columns."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.report.tables import MOST_ROWS, backups_table, findings_table


def test_a_table_of_findings_shows_a_thousand_and_counts_the_others():
    findings = [Finding("CKPT130", "error", "a file is missing", number) for number in range(MOST_ROWS + 7)]
    rows = findings_table(findings).rows
    assert len(rows) == MOST_ROWS + 1 and rows[-1][-1] == "7 more findings; --json lists them all."
    assert len(findings_table(findings[:MOST_ROWS]).rows) == MOST_ROWS


@pytest.mark.parametrize(("messages", "has_column"), [(("", ""), False), (("", "before 4.3"), True)])
def test_a_table_of_backups_names_the_query_and_shows_messages_where_there_are_any(messages, has_column):
    listing = SimpleNamespace(backups=[_backup(message) for message in messages])
    table = backups_table("root", listing)
    assert table.columns[:2] == ("backup", "query") and ("message" in table.columns) is has_column
    assert all(len(row) == len(table.columns) and row[1] == "q" for row in table.rows)


def _backup(message: str) -> SimpleNamespace:
    sizes = {"objects": (), "unknown": (), "total_bytes": 5, "own_bytes": 5, "tags": ()}
    when = {"created_at_ms": 0, "batch_id": 1, "watermark_ms": None}
    return SimpleNamespace(backup_id="b", query_id="q", message=message, location="/c", **sizes, **when)
