"""Where records of changes are: beside the checkpoint or under a root of one's own, and never where others read."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.find_records import records_of
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.storage.store import Store


def test_they_are_beside_the_checkpoint_or_under_the_root_given(tmp_path):
    checkpoint = Store.open(str(tmp_path / "orders"))
    assert records_of(checkpoint).location == str(tmp_path / "_ckpt_undo" / "orders")
    own = records_of(checkpoint, Store.open(str(tmp_path / "records"))).location
    assert own.startswith(str(tmp_path / "records" / "orders-"))


@pytest.mark.parametrize("place", ["orders/records", "out/_spark_metadata", "table/_delta_log/records"])
def test_they_are_never_inside_the_checkpoint_or_the_log_of_a_sink(tmp_path, place):
    with pytest.raises(PlanError, match="records of changes would be written into"):
        records_of(Store.open(str(tmp_path / "orders")), Store.open(str(tmp_path / place)))
