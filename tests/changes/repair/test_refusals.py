"""Refusals name the batch, why, and the options that decide about it."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.changes.repair.data_file import DataFile
from airflow_provider_ckpt.changes.repair.decision import Decisions
from airflow_provider_ckpt.changes.repair.refusals import require_used, too_many, undecided
from airflow_provider_ckpt.changes.repair.share import Doubt, Share
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.untrusted.spans import Span


def test_the_first_batches_are_told_with_their_reasons():
    doubts = [Doubt(Span(batch, batch), f"why {batch}", (DataFile(f"f{batch}", 1, 1, 0, 0),)) for batch in range(5)]
    error = undecided(doubts, "/out", "/checkpoint")
    assert "(batch 0: why 0; batch 1: why 1; batch 2: why 2; and 2 more)" in error.message
    assert "For batch 0 (1 data files may be theirs: f0): --adopt 0 takes" in (error.hint or "")
    assert "ckpt rollback /checkpoint --to-batch N --sink file:/out --trim-sink-log" in (error.hint or "")


def test_a_decision_about_nothing():
    require_used(Decisions({4: ()}), [Share(Span(4, 4), (), "exact", "")], "/out")
    with pytest.raises(PlanError, match="nothing is to be decided about batch 5"):
        require_used(Decisions({4: (), 5: ()}), [Share(Span(4, 4), (), "exact", "")], "/out")


def test_a_log_that_lacks_nearly_all():
    assert "more than 2000 batches" in too_many("/out").message
