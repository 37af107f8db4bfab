"""Names of queries, from where their checkpoints are."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.graph.names import MOST_CHARS, names_of


@pytest.mark.parametrize(
    ("locations", "names"),
    [
        (["s3://b/checkpoints/orders", "s3://b/checkpoints/totals"], ["orders", "totals"]),
        (["/cp/land/orders", "/cp/v43/orders"], ["land_orders", "v43_orders"]),
        (["/lake/merge/_checkpoint", "/lake/x/checkpoints"], ["merge", "x"]),
        (["s3://b/orders/v1", "s3://b/orders/v2"], ["orders_v1", "orders_v2"]),
        (["s3://b/orders/v1"], ["orders"]),
        (["/a b/q", "/a_b/q"], ["a_b_q", "a_b_q_2"]),
        (["/A/Orders", "/B/orders"], ["A_Orders", "B_orders"]),
        (["/"], ["query"]),
        (["/lake/_checkpoints/shop/orders/load/3"], ["load"]),  # a flow of a pipeline
    ],
)
def test_a_name_is_short_and_of_one_query(locations, names):
    assert names_of(locations) == names


@given(st.lists(st.text(max_size=30), max_size=12))
def test_any_locations_have_names_of_their_own(parts):
    locations = [f"/cp/{part}/{at}" for at, part in enumerate(parts)]
    names = names_of(locations)
    assert len({name.lower() for name in names}) == len(locations)
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name) for name in names)
    assert all(len(name) <= MOST_CHARS + 5 for name in names)
