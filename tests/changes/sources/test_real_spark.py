"""A sample of `make source-changes`: changes of sources in real Spark, of which some steps are started."""

from __future__ import annotations

import pytest

from tests.changes.sources.cases import draw
from tests.changes.sources.real_query import InThisProcess, RealQuery

#: Of the seed 1: names and a copy without state, and names and a copy of an aggregation beside a batch in flight.
SAMPLE = (8, 9)


@pytest.mark.parametrize("number", SAMPLE)
def test_the_next_query_has_every_row_once(spark, tmp_path, number):
    case = draw(1, number, names=True, kafka=False)
    shown = RealQuery(case, InThisProcess(spark), tmp_path).show(lambda steps: (1, steps - 1))
    assert shown.refused == ""
    assert shown.prefixes == 2
