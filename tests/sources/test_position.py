"""Where a source was after a batch."""

from __future__ import annotations

from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.sources.position import Position


def test_a_position_names_the_entry_that_says_so():
    assert Position("s3://lake/orders", "", "0", 41, SourceOffset("{}")).entry == "offsets/41"
