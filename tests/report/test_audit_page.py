"""The page of an audit: what happened is on it, it needs no network, and text of others stays text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from airflow_provider_ckpt.report.audit_page import MOST_EVENTS, audit_page
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
        if tag != "meta":
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


def test_the_query_that_is_silent_comes_first():
    text = page()
    assert text.index(f"<h3><code>{ORDERS}") < text.index(f"<h3><code>{CLICKS}")


def test_money_comes_with_the_conf_that_changes_it():
    assert "trigger(processingTime=&quot;1 minute&quot;)</code> saves 1.50" in page()


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
