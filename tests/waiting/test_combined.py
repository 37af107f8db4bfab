"""Conditions of several: what they tell of those that are open and of those that were met."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.waiting import (
    AllOf,
    AnyOf,
    BatchCommitted,
    Condition,
    NextBatch,
    WatermarkPassed,
    all_of,
    any_of,
)
from tests.waiting.at_noon import MINUTE_MS, NOON_MS, stands


def test_one_target_is_itself_and_none_is_refused():
    assert all_of(BatchCommitted(1)) == any_of(BatchCommitted(1)) == BatchCommitted(1)
    for combine in (all_of, any_of):
        with pytest.raises(CheckpointError, match="no condition is given"):
            combine()


def test_a_combined_target_tells_of_what_is_open_and_of_what_was_met():
    both = AllOf((BatchCommitted(5), WatermarkPassed(7), BatchCommitted(9)))
    assert both.explain(stands(5, watermark_ms=7)) == "committed batch 5, waiting for batch 9"
    assert both.met(stands(5)) == (BatchCommitted(5),)
    either = AnyOf((BatchCommitted(9), AllOf((BatchCommitted(5), BatchCommitted(4)))))
    assert either.met(stands(5)) == (BatchCommitted(5), BatchCommitted(4))
    assert either.remaining(stands(5)) == 0 and either.remaining(stands(3)) is None


def test_the_last_of_all_and_the_first_of_any():
    earlier, latest = stands(2, began_ms=NOON_MS - MINUTE_MS), stands(4, began_ms=NOON_MS)
    near, far = BatchCommitted(5), BatchCommitted(8)
    assert near.eta_ms(earlier, latest) == MINUTE_MS / 2 and far.eta_ms(earlier, latest) == 2 * MINUTE_MS
    assert AllOf((near, far)).eta_ms(earlier, latest) == 2 * MINUTE_MS
    assert AnyOf((near, far)).eta_ms(earlier, latest) == MINUTE_MS / 2
    unknown = NextBatch(NOON_MS)
    assert AllOf((near, unknown)).eta_ms(earlier, latest) is None
    assert AnyOf((near, unknown)).eta_ms(earlier, latest) == MINUTE_MS / 2


@pytest.mark.parametrize("kind", [Condition, AllOf.__base__])
def test_what_cannot_be_judged_is_no_condition(kind):
    with pytest.raises(TypeError, match="abstract"):
        kind()
