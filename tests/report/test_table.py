"""A table for people: what somebody will copy out of it is whole, however wide the other columns are."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.report.table import LOG_WIDTH, Table, facts, render

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
