"""The page of a real fleet, as it was recorded, names the query that hangs, the one redeployed, the one rolled back."""

from __future__ import annotations

import re

import pytest

from airflow_provider_ckpt.report.audit_page import audit_page
from tests.report.recorded_fleet import recorded


@pytest.fixture(scope="module")
def page():
    tables, now_ms = recorded()
    return audit_page(tables, now_ms=now_ms, about="Checkpoints below s3://lake/checkpoints")


def rows(page: str, heading: str) -> list[list[str]]:
    """The texts of the cells of a table, row by row, without its head."""
    section = page.partition(f"<h2>{heading}</h2>")[2].partition("</table>")[0]
    cells = [re.findall(r"<td class='\w*'>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", section)]
    return [[re.sub(r"<[^>]+>", "", cell) for cell in row] for row in cells if row]


TOLD = {
    ("checkpoints/files", "stall"): r"Nothing was committed since batch \d+, for \d+ s; usual is 5\.\d s\.",
    ("checkpoints/totals", "conf"): r"spark\.sql\.shuffle\.partitions changed from 2 to 4 with batch \d+\.",
    ("checkpoints/unique", "rolled back"): (
        r"The log went back from batch \d+; batch \d+ was the first to run again, \d+ s after the last commit that was read\."
    ),
}


def test_all_three_are_told_and_nothing_else(page):
    told = {(query, kind): text for _, kind, query, text in rows(page, "What happened")}
    assert told.keys() == TOLD.keys()
    assert [place for place, pattern in TOLD.items() if not re.fullmatch(pattern, told[place])] == []


def test_they_are_the_first_of_six_queries_and_marked(page):
    queries = [(row[0], row[1]) for row in rows(page, "Queries")]
    assert queries[:3] == [
        ("checkpoints/files", "stall"),
        ("checkpoints/totals", "conf"),
        ("checkpoints/unique", "rolled back"),
    ]
    assert [happened for _, happened in queries[3:]] == ["", "", ""]


def test_their_charts_show_when(page):
    charts = re.findall(r"<h3><code>s3://lake/checkpoints/(\w+)</code></h3>(.*?)(?=<h3>|<h2>)", page, re.DOTALL)
    marks = {name: set(re.findall(r'class="mark (\w+)"', drawn)) for name, drawn in charts}
    assert {name: tones for name, tones in marks.items() if tones} == {
        "files": {"bad"},
        "totals": {"note"},
        "unique": {"warn"},
    }
