"""A repartition of real Spark, as it was before and as it is made again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.changes.repartition.forged_spark import GOLDEN, Case, Forged, before_and_batch, put_in_place


@pytest.fixture
def case(golden_home: Callable[[str], Path]) -> Case:
    """A checkpoint of two partitions, with batches 0 to 4."""
    return Case(*before_and_batch(golden_home(GOLDEN)))


@pytest.fixture
def forge(monkeypatch: pytest.MonkeyPatch) -> Callable[[Forged], Forged]:
    """Puts a forged Spark in the place of the real one."""
    return partial(put_in_place, monkeypatch)
