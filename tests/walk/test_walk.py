"""A part of ``make walk``: random changes of queries of real Spark lose nothing, and nothing is said that is not so."""

from __future__ import annotations

import pytest

from tests.walk.run import run


@pytest.mark.exhaustive
def test_ten_minutes_of_random_walks():
    assert run(600, seed=11) == []
