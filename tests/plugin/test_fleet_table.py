"""Which rows of a fleet are shown, in which order, and how."""

from __future__ import annotations

from random import Random
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.fleet.index import IndexRow
from airflow_provider_ckpt.fleet.row import BatchRate
from airflow_provider_ckpt.plugin.fleet_table import (
    ROWS,
    SORTS,
    Selection,
    lag_of,
    name_of,
    rate_text,
    select,
    spark_points,
)

ROWS_OF = (
    IndexRow("s3://lake/a", "17ea636e", 7, 6, 7, 9_000, None, 100, errors=2, worst="error", worst_code="CKPT102"),
    IndexRow("s3://lake/B", None, 7, 7, None, 5_000, None, 300, offsets=9, worst="warning", warnings=1, backup_ms=5),
    IndexRow("s3://lake/c", "e97ef807", 3, 3, None, 7_000, offsets=5, files=5, backup_ms=9, rate=BatchRate(0, 9, (3,))),
    IndexRow("s3://lake/d", error="permission denied", worst="error"),
    IndexRow("s3://lake/e", replaced_by="s3://lake/f"),
)


def names(selection: Selection, rows=ROWS_OF) -> str:
    return "".join(row.location[-1] for row in select(rows, selection).rows)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, "adBce"),
        ({"q": "LAKE/b"}, "B"),
        ({"q": " 17EA "}, "a"),
        ({"q": "ckpt102"}, "a"),
        ({"q": "denied"}, "d"),
        ({"q": "nothing like that"}, ""),
        ({"severity": "error"}, "ad"),
        ({"severity": "none"}, "ce"),
        ({"severity": "fatal"}, "adBce"),
        ({"state": "in flight"}, "a"),
        ({"state": "not readable"}, "d"),
        ({"state": "replaced"}, "e"),
        ({"severity": "error", "state": "in flight", "q": "lake"}, "a"),
        ({"sort": "query"}, "Bacde"),
        ({"sort": "query", "reverse": "1"}, "edcaB"),
        ({"sort": "batch"}, "Bacde"),
        ({"sort": "delay"}, "Bcade"),
        ({"sort": "delay", "reverse": "1"}, "acBde"),
        ({"sort": "watermark lag"}, "Bacde"),
        ({"sort": "source lag"}, "cBade"),
        ({"sort": "last backup"}, "Bcade"),
        ({"sort": "batch rate"}, "caBde"),
        ({"sort": "nonsense"}, "adBce"),
    ],
)
def test_what_is_asked_for_is_shown(asked, found):
    shown = names(Selection.of(asked))
    assert shown[: len(found.rstrip("ade"))] == found[: len(found.rstrip("ade"))]
    assert sorted(shown) == sorted(found)
    if asked.get("sort") in (None, "query", "nonsense"):
        assert shown == found


@pytest.mark.parametrize("column", SORTS)
@pytest.mark.parametrize("reverse", ["", "1"])
def test_each_column_sorts_and_what_is_not_known_comes_last(column, reverse):
    rows = list(ROWS_OF)
    Random(7).shuffle(rows)
    shown = select(rows, Selection.of({"sort": column, "reverse": reverse})).rows
    values = [SORTS[column](row) for row in shown]
    known = [value for value in values if value is not None]
    assert values == known + [None] * (len(values) - len(known))
    order = Selection.of({"sort": column, "reverse": reverse}).order_of(column)
    if column == "delay":  # the one that committed longest ago has the greatest delay
        assert known == sorted(known, reverse=order == "descending")
    else:
        assert known == sorted(known, reverse=order == "descending")


@given(
    st.fixed_dictionaries(
        {},
        optional={
            name: st.text(max_size=12) | st.sampled_from(["1", "2", "error", "in flight", "query", "0", "-1", "9" * 30])
            for name in ("q", "severity", "state", "sort", "reverse", "page", "other")
        },
    )
)
def test_any_address_is_a_selection_and_its_link_leads_to_it(asked):
    selection = Selection.of(asked)
    part = select(ROWS_OF, selection)
    assert part.count <= len(ROWS_OF) and part.page == 1
    link = selection.link(page=selection.page)
    assert link.startswith("?") and len(link) > 1
    assert Selection.of(dict(parse_qsl(link[1:]))) == selection


def test_a_click_on_a_head_sorts_and_another_one_turns_it_round():
    selection = Selection(text="x", page=3)
    once = selection.sorted_by("delay")
    assert (once.sort, once.reverse, once.page, once.text) == ("delay", False, 1, "x")
    assert once.sorted_by("delay").reverse and not once.sorted_by("delay").sorted_by("delay").reverse
    assert once.order_of("query") is None
    assert {once.order_of("delay"), once.sorted_by("delay").order_of("delay")} == {"ascending", "descending"}


@pytest.mark.parametrize(
    ("count", "asked", "page", "pages", "shown"),
    [(0, 1, 1, 1, 0), (ROWS, 1, 1, 1, ROWS), (ROWS + 1, 2, 2, 2, 1), (ROWS + 1, 9, 2, 2, 1), (250, 2, 2, 3, ROWS)],
)
def test_a_page_has_so_many_rows(count, asked, page, pages, shown):
    rows = [IndexRow(f"/{number:04d}") for number in range(count)]
    part = select(rows, Selection(page=asked))
    assert (part.count, part.page, part.pages, len(part.rows)) == (count, page, pages, shown)


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (IndexRow("a"), None),
        (IndexRow("a", offsets=0), "0 offsets"),
        (IndexRow("a", offsets=12_345, files=3, age_ms=300_000), "12,345 offsets, 3 files, oldest 5 min"),
        (IndexRow("a", versions=1, lost=7), "1 versions, 7 lost"),
    ],
)
def test_a_lag_in_words(row, text):
    assert lag_of(row) == text


def test_the_name_is_the_end_of_the_location():
    assert name_of(IndexRow("s3://lake/checkpoints/orders/")) == "checkpoints/orders"


def test_a_rate_is_a_line_and_words():
    rate = BatchRate(0, 7_200_000, (0, 5, 10))
    assert spark_points(rate) == "0.0,19.0 48.0,10.0 96.0,1.0"
    assert rate_text(rate) == "15 batches in 2 h"
    assert spark_points(BatchRate(0, 1, (0,))) == "0.0,19.0"
