"""A table for people: what somebody will copy out of it is whole, however wide the other columns are."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.report.table import LOG_WIDTH, Table, facts, folded, render

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


@pytest.mark.parametrize(
    ("line", "width", "lines"),
    [
        ("team/queries/orders", 19, ["team/queries/orders"]),
        ("team/queries/orders", 14, ["team/queries/", "orders"]),
        ("read s3://lake/a,s3://lake/b", 14, ["read s3://lake/a,", "s3://lake/b"]),
        ("orders-of-a-team/v1", 8, ["orders-o", "f-a-team", "/v1"]),
    ],
)
def test_a_long_path_is_folded_behind_its_slashes(line, width, lines):
    assert folded(line, width).split("\n") == lines


def test_the_words_of_other_columns_are_whole_and_the_widest_gives_room():
    shown = render([Table("Fleet", ("checkpoint", "last commit"), ((LONG, ("12 d 13 h ago", "stalled")),))])
    assert "│ 12 d 13 h ago │" in shown and "│ stalled       │" in shown
    assert "orders-of-a-team-with-a-long-name/ │" not in shown and max(map(len, shown.splitlines())) <= LOG_WIDTH


def test_brackets_of_others_are_no_markup():
    assert "[red]s3://lake/[x]:smile:[/red]" in render([facts("Place", [("at", "[red]s3://lake/[x]:smile:[/red]")])])
