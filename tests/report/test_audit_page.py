"""The page of an audit: what happened is on it, it needs no network, and text of others stays text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from airflow_provider_ckpt.report.audit_page import MOST_EVENTS, audit_page
from airflow_provider_ckpt.report.charts import WIDTH
from tests.report.audit_tables import CLICKS, NOW_MS, ORDERS, query, tables


def page(**more: list[dict[str, object]]) -> str:
    return audit_page(tables(**more), now_ms=NOW_MS, about="Checkpoints below s3://lake")


class Tags(HTMLParser):
    """Every tag with its attributes, and whether they close."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.attributes += attrs
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_it_is_whole_and_loads_nothing():
    tags = Tags()
    tags.feed(page())
    assert tags.open == []
    assert not tags.seen & {"script", "link", "img", "iframe", "b-"}
    assert not {name for name, _ in tags.attributes} & {"src", "href", "onclick"}
    assert "url(" not in page() and "@import" not in page()


def test_it_says_since_when_every_checkpoint_has_been_polled():
    assert "As of 2026-11-22 12:00:00 UTC.</p>" in page()
    text = audit_page(tables(), now_ms=NOW_MS, about="Fleet", polled_ms=NOW_MS - 90_000)
    assert "As of 2026-11-22 12:00:00 UTC; every checkpoint has been polled since 2026-11-22 11:58:30.</p>" in text


def test_it_has_both_schemes():
    css = page().partition("</style>")[0]
    assert "color-scheme: light dark" in css and "prefers-color-scheme: dark" in css
    light, dark = re.findall(r":root \{(.+?)\}", css, re.DOTALL)
    assert set(re.findall(r"--\w+(?=:)", light)) == set(re.findall(r"--\w+(?=:)", dark))


def test_what_happened_is_told_newest_first():
    text = page()
    assert text.index("a.b changed") < text.index("Nothing was committed since") < text.index("The log went back")
    for tile in ("<b>1</b>silent now", "<b>1</b>conf changes", "<b>1</b>rollbacks, restores", "<b>180</b>batches"):
        assert tile in text, tile


def test_the_query_that_is_silent_comes_first_and_one_of_which_nothing_is_told_last():
    text = page(queries=[query("a"), *tables()["queries"]])
    assert text.index(f"<h3><code>{ORDERS}") < text.index(f"<h3><code>{CLICKS}") < text.index("<h3><code>a<")


def test_beside_each_query_is_what_happened_to_it():
    rows = re.findall(r"<tr>.*?</tr>", page().partition("<h2>Queries</h2>")[2].partition("<h2>")[0])
    (orders,) = (row for row in rows if "checkpoints/orders" in row)
    assert re.findall(r'<span class="kind (\w+)">([\w ]+)</span>', orders) == [
        ("bad", "stall"),
        ("warn", "rolled back"),
    ]
    twice = page(events=tables()["events"] * 2)
    assert "rolled back</span> 2×" in twice


def test_a_stall_is_an_area_of_the_charts_up_to_its_end_and_anything_else_a_line():
    text = page()
    orders = text.partition(f"<h3><code>{ORDERS}")[2].partition("<h3>")[0]
    assert re.findall(r'class="mark (\w+)"><title>[^<]*</title><(rect|line)', orders)[:2] == [
        ("bad", "rect"),
        ("warn", "line"),
    ]
    area = re.search(r'<rect x="([\d.]+)" y="8" width="([\d.]+)"', orders)
    assert float(area[1]) + float(area[2]) == pytest.approx(WIDTH - 8)  # it goes on


def test_the_sources_of_a_query_are_in_order():
    """Spark gives the rows of one window in any order."""
    found = [{**row, "source_id": source} for row in tables()["throughput"] for source in "10"]
    assert re.findall(r"</i>(\d): records", page(throughput=found)) == ["0", "1"] * 2


def test_money_comes_with_the_conf_that_changes_it():
    assert "trigger(processingTime=&quot;1 minute&quot;)</code><br>saves 1.50 USD a day" in page()


def test_text_of_others_stays_text():
    text = page()
    assert "<script>" not in text and "changed from 1 to &lt;script&gt;" in text
    assert "\u202e" not in text


def test_a_fleet_of_which_nothing_is_known_has_a_page():
    empty = {name: [] for name in tables()}
    assert "None." in audit_page(empty, now_ms=NOW_MS, about="Nothing")


def test_of_many_events_the_newest_are_shown_and_the_others_counted():
    event = tables()["events"][0]
    assert f"{700 - MOST_EVENTS} more are in the tables" in page(events=[event] * 700)
    assert "<b>60</b>batches" in page(queries=[query(ORDERS)])
