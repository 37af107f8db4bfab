"""The table of the queries: it fits, marks what is past a threshold, and says what it does not show."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.errors import CheckpointNotFoundError
from airflow_provider_ckpt.fleet.queries.row import NewestBackup, NewestChange, QueryRow
from airflow_provider_ckpt.fleet.queries.thresholds import Threshold
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.report.query_tables import (
    alarm_lines,
    codes_line,
    headline,
    matter_lines,
    queries_table,
    running_line,
    unknown_lines,
)
from airflow_provider_ckpt.report.table import to_rich
from airflow_provider_ckpt.sources.lag import SourceLag

FULL = QueryRow(
    "orders_by_customer_and_region",
    "s3://lake/checkpoints/orders",
    running_unknown="no engine is declared",
    watermark_delay_ms=900_000,
    behind_ms=125_000,
    backup=NewestBackup("b1", 7, 1, 3_600_000),
    change=NewestChange("p1", "reset-offsets", "undone", "ann@laptop.example.com", 1, 86_400_000),
    thresholds=(Threshold("behind", 60_000, 125_000, source_id="0"), Threshold("rows", 9, 5)),
    checkpoint=FleetRow(
        "s3://lake/checkpoints/orders",
        latest_committed_batch=123_456,
        latest_planned_batch=123_457,
        in_flight=123_457,
        last_commit_age_ms=5_000,
        stalled_ms=5_000,
        findings=(Finding("CKPT101", "error", "it is broken"),),
        sources=(
            SourceLag("0", "kafka", "offsets", 1_234_567, age_ms=125_000),
            SourceLag("1", None, notes=("it was not declared",)),
        ),
    ),
)
BARE = QueryRow("totals", "c", checkpoint=FleetRow("c"), running_unknown="no engine is declared")
GONE = QueryRow(
    "gone", "c", failure=CheckpointNotFoundError("gone"), thresholds=(Threshold("age", 5, None, why="gone"),)
)


def printed(rows: list[QueryRow], width: int) -> list[str]:
    from rich.console import Console

    console = Console(width=width, no_color=True, force_terminal=False)
    with console.capture() as captured:
        console.print(to_rich(queries_table(rows, width)[0], width), crop=False)
    return captured.get().rstrip().split("\n")


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160, 240])
def test_it_fits(width):
    assert max(map(len, printed([FULL, BARE, GONE], width))) <= width


def test_what_there_is_no_room_for_is_said_the_least_first():
    table, left_out = queries_table([FULL, BARE], 80)
    assert left_out and table.columns[:1] == ("query",) and not {*left_out} & {*table.columns}
    assert "runs" in left_out and "committed" in table.columns and "behind" in table.columns
    assert queries_table([FULL, BARE], 400)[1] == ()


def test_a_column_with_nothing_in_it_is_not_there():
    table, left_out = queries_table([BARE], 200)
    assert not {"delay", "backup", "change", "worst"} & {*table.columns} and left_out == ()


def test_the_cells():
    table, _ = queries_table([FULL, GONE], 400)
    cells = dict(zip(table.columns, table.rows[0], strict=True))
    assert cells["runs"] == "?" and cells["batch"] == "123456, 123457 in flight"
    assert cells["committed"] == "5 s ago, stalled" and cells["unread"] == "at most 1234567 offsets, ?"
    assert cells["behind"] == "! 2 min"
    assert cells["delay"] == "15 min" and cells["worst"] == "error CKPT101" and cells["backup"] == "60 min ago"
    assert cells["change"] == "reset-offsets (undone) by ann@laptop.example.com, 24 h ago"
    gone = dict(zip(table.columns, table.rows[1], strict=True))
    assert gone["worst"] == "not readable" and gone["committed"] == "! ?" and gone["unread"] is None


def test_the_sentences():
    assert list(alarm_lines(GONE)) == ["gone: gone."]
    assert list(alarm_lines(FULL)) == [
        "orders_by_customer_and_region: the age of the oldest unread data in source 0 is 2 min, and alert.behind is 60 s.",
        "orders_by_customer_and_region: CKPT101 it is broken",
    ]
    assert headline([BARE]) == "1 query: nothing is wrong in what was judged"
    assert headline([FULL, BARE, GONE]) == "3 queries: 1 not readable, 1 past a threshold, 1 with an error"
    assert running_line([FULL, BARE]) == "Whether they run is not known: no engine is declared."
    assert codes_line([FULL]).startswith("CKPT101: ") and codes_line([BARE]) is None


def test_queries_with_the_same_gap_have_one_line():
    silent = [
        QueryRow(f"q{number}", "c", checkpoint=FleetRow("c", sources=(SourceLag("0", "kafka", notes=("b1 is silent",), is_partial=True),)))
        for number in range(5)
    ]  # fmt: skip
    assert unknown_lines(silent) == ["q0, q1, q2 and 2 more: how far it is behind source 0 is not known: b1 is silent."]
    assert unknown_lines([BARE]) == ["totals: how far it is behind is not known: its sources are not declared."]
    assert "source 1 is not known: it was not declared" in unknown_lines([FULL])[0]
    odd = QueryRow("a", "c", checkpoint=FleetRow("c", sources=()), backup_unknown="b.", change_unknown="d.")
    assert unknown_lines([odd]) == ["a: its newest backup is not known: b.", "a: its newest change is not known: d."]


def test_many_that_cannot_be_read_for_one_reason_have_one_line():
    down = [QueryRow(f"q{at}", f"s3://a/{at}", failure=CheckpointNotFoundError("it is away")) for at in range(9)]
    assert matter_lines([*down, FULL]) == ["q0, q1, q2 and 6 more: it is away.", *alarm_lines(FULL)]
    assert matter_lines(down[:3]) == [f"q{at}: it is away." for at in range(3)]


def test_what_a_threshold_says_is_not_said_again():
    source = SourceLag("0", "kafka", notes=("b1 is silent",), is_partial=True)
    threshold = Threshold("behind", 5, None, source_id="0", why="b1 is silent")
    row = QueryRow("a", "c", checkpoint=FleetRow("c", sources=(source,)), thresholds=(threshold,))
    assert unknown_lines([row]) == []
