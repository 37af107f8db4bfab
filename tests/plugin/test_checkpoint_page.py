"""What a page shows is bounded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.plan.actions import Delete
from airflow_provider_ckpt.plugin.checkpoint_page import MOST_STEPS, CheckpointPage, steps_of
from tests.change.plans import ROLLBACK


@pytest.mark.parametrize(
    ("steps", "left_out"), [(0, 0), (MOST_STEPS, 0), (MOST_STEPS + 1, 1), (5_000, 5_000 - MOST_STEPS)]
)
def test_of_a_long_plan_the_first_and_the_last_steps_are_shown(steps, left_out):
    plan = replace(ROLLBACK, actions=tuple(Delete(f"commits/{number}") for number in range(steps)))
    shown, hidden = steps_of(plan)
    assert (len(shown), hidden) == (steps - left_out, left_out)
    if steps:
        assert (shown[0].number, shown[-1].number, shown[-1].name) == (1, steps, f"commits/{steps - 1}")


def test_a_page_without_findings_has_no_worst():
    assert CheckpointPage("/c", 0).worst is None
