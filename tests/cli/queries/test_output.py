"""What people see of ``ckpt queries``."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.cli.queries.output import print_for_people
from airflow_provider_ckpt.fleet.queries.row import QueryRow
from airflow_provider_ckpt.fleet.queries.thresholds import Threshold
from airflow_provider_ckpt.fleet.row import FleetRow

PASSED = Threshold("age", 5_000, 9_000)


def rows(count: int) -> list[QueryRow]:
    return [
        QueryRow(f"query-{at:03d}", "c", checkpoint=FleetRow("c", latest_committed_batch=at)) for at in range(count)
    ]


@pytest.mark.parametrize("width", [80, 100])
def test_it_fits(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    print_for_people([*rows(3), QueryRow("late", "c", checkpoint=FleetRow("c"), thresholds=(PASSED,))])
    out = capsys.readouterr().out
    assert max(len(line) for line in out.splitlines() if line[:1] in "│┃┏└") <= width
    assert "! marks what is past its threshold, or not known." in out


def test_what_is_not_shown_of_a_long_table_is_counted_and_what_is_the_matter_is_said(capsys):
    print_for_people([*rows(30), QueryRow("late", "c", checkpoint=FleetRow("c"), thresholds=(PASSED,))], most_rows=5)
    out = capsys.readouterr().out
    assert "26 more queries are not shown." in out and "query-003" in out and "query-004 " not in out
    assert "late: the age of the newest commit is 9 s, and alert.age is 5 s." in out


def test_no_query_is_one_line(capsys):
    print_for_people([])
    assert capsys.readouterr().out == "0 queries: nothing is wrong in what was judged\n"


def test_text_of_others_moves_no_cursor(capsys):
    why = Threshold("age", 5, None, why="\x1b[2Jgone")
    print_for_people([QueryRow("a", "c", checkpoint=FleetRow("c"), thresholds=(why,))])
    assert "\x1b[2J" not in capsys.readouterr().out
