"""The statements of the audit are whole: each has the numbers of a measure in it, and each table is made of earlier ones."""

from __future__ import annotations

import re

import pytest

from airflow_provider_ckpt.batches.audit import TABLES, VIEWS, Measure, Prices, statement, window_for

NOW_MS = 1_800_000_000_000


@pytest.mark.parametrize("name", [*VIEWS, *TABLES])
def test_a_statement_reads_what_was_made_before_it(name):
    sql = statement({**VIEWS, **TABLES}[name], Measure(NOW_MS, NOW_MS))
    assert "{" not in sql
    earlier = ["history", "operators", *VIEWS, *TABLES]
    read = set(re.findall(r"\b(?:FROM|JOIN) (\w+)", sql))
    assert read <= set(earlier[: earlier.index(name)])


@pytest.mark.parametrize(
    ("span_ms", "window_s"),
    [(0, 1), (60_000, 1), (61_000, 5), (3_600_000, 60), (86_400_000, 3_600), (30 * 86_400_000, 86_400)],
)
def test_a_window_is_a_sixtieth_of_the_history_or_so(span_ms, window_s):
    assert window_for(span_ms) == window_s


def test_a_file_costs_what_its_requests_cost():
    """Four that write or list at 5 dollars a million, four that read at 40 cents."""
    assert Prices().a_file_usd == pytest.approx(21.6e-6)
