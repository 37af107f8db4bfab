"""What a person can ask of a repair."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.changes.repair.decision import parse_decisions
from airflow_provider_ckpt.changes.repair.make import RepairRequest


def test_what_is_decided_is_read_from_the_request():
    asked = RepairRequest(adopt=("4", "5=part-0.parquet"), empty=("6",), compact_interval=3)
    assert asked.decisions == parse_decisions(("4", "5=part-0.parquet"), ("6",), 3)


def test_a_batch_that_is_none_is_refused():
    with pytest.raises(ValueError, match="soon"):
        RepairRequest(empty=("soon",)).decisions()
