"""Tables for people: what somebody will copy out of one is whole in it, however wide the other columns are."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.report.tables import (
    LOG_WIDTH,
    MOST_ROWS,
    Table,
    backups_table,
    facts,
    findings_table,
    render,
)

BACKUP, CHANGE, QUERY = "20261121T094345.815Z-0a3c26f7", "2cfefba463dfeadb", "7f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"
LONG = "s3://lake/checkpoints/" + "orders-of-a-team-with-a-long-name/" * 5


@pytest.mark.parametrize(
    ("cell", "kept"),
    [(BACKUP, BACKUP), (CHANGE, CHANGE), (QUERY, QUERY), (f"undoes {CHANGE}", CHANGE), (f"of {BACKUP}, whole", BACKUP)],
)
@pytest.mark.parametrize("beside", [1, 2, 6])
def test_no_id_is_folded(cell, kept, beside):
    columns = ("id", *("place",) * beside)
    shown = render([Table("Backups", columns, ((cell, *(LONG,) * beside), (None, *(LONG,) * beside)))])
    assert kept in shown
    assert max(map(len, shown.splitlines())) <= LOG_WIDTH or beside == 6


def test_an_id_among_facts_is_not_folded():
    shown = render([facts("Backup", [("backup", BACKUP), ("at", LONG), (LONG, CHANGE)])])
    assert BACKUP in shown and CHANGE in shown


def test_nothing_is_cut_where_ids_leave_no_room():
    shown = render([Table("Ids", ("a", "b", "c", "d"), ((QUERY, BACKUP, QUERY, "whole"),))])
    assert shown.count(QUERY) == 2 and BACKUP in shown and "whole" in shown


def test_what_is_no_id_is_folded():
    shown = render([facts("Place", [("checkpoint", f"{LONG}{BACKUP}")])])
    assert max(map(len, shown.splitlines())) <= LOG_WIDTH


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
