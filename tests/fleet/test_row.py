"""Batches over time, in a few numbers."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.fleet.row import PARTS, BatchRate, batch_rate, rate_from_dict


@pytest.mark.parametrize(
    ("commits_ms", "until_ms", "rate"),
    [
        ([], 100, None),
        ([5], 100, None),
        ([5, 5, 5], 100, None),
        ([0, 25, 50, 75, 100], 100, BatchRate(0, 100, (1, 1, 1, 2))),
        ([100, 0], 100, BatchRate(0, 100, (1, 0, 0, 1))),
        ([0, 10], 400, BatchRate(0, 400, (2, 0, 0, 0))),  # a query that has stopped
        ([0, 100], 50, BatchRate(0, 100, (1, 0, 0, 1))),  # a clock that is behind
    ],
)
def test_batches_are_counted_in_equal_parts(commits_ms, until_ms, rate):
    assert batch_rate(commits_ms, until_ms, 4) == rate


@given(st.lists(st.integers(0, 10**13), max_size=300), st.integers(0, 10**13))
def test_every_batch_is_counted_once_in_few_numbers(commits_ms, until_ms):
    rate = batch_rate(commits_ms, until_ms)
    if rate is not None:
        assert sum(rate.batches) == len(commits_ms) and len(rate.batches) == PARTS
        assert rate_from_dict(json.loads(json.dumps(rate.to_dict()))) == rate


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"from_ms": 0, "until_ms": 1, "batches": None},
        {"from_ms": 0, "until_ms": True, "batches": [1]},
        {"from_ms": 0, "until_ms": 1, "batches": ["1"]},
        {"from_ms": 0, "until_ms": 1, "batches": [-1]},
        {"from_ms": 0, "until_ms": 1, "batches": []},
        {"from_ms": 0, "until_ms": 1, "batches": [10**400, 1]},
        {"from_ms": 0, "until_ms": 1 << 63, "batches": [1]},
        {"from_ms": 0, "until_ms": 1, "batches": [0] * (PARTS + 1)},
    ],
)
def test_what_is_no_rate_is_refused(fields):
    with pytest.raises(ValueError, match="whole numbers"):
        rate_from_dict(fields)


def test_no_rate_is_none():
    assert rate_from_dict(None) is None
