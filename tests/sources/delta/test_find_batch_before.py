"""The batch to go back to, so that a query has not read a version of a Delta table."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec.offsets.delta import BASE_INDEX, DeltaOffset
from airflow_provider_ckpt.sources.delta.find_batch_before import find_batch_before
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_checkpoint import commit_batch


@pytest.mark.parametrize(
    ("ends", "version", "expected"),
    [
        ([(1, BASE_INDEX), (2, BASE_INDEX), (3, BASE_INDEX)], 2, 1),
        ([(1, BASE_INDEX), (2, 0), (3, BASE_INDEX)], 2, 0),
        ([(3, BASE_INDEX)], 2, None),
    ],
    ids=["it ended before the version", "one read a part of it", "every batch has read it"],
)
def test_a_batch_that_ended_before_a_version(ends, version, expected, tmp_path):
    for batch_id, (end, index) in enumerate(ends):
        commit_batch(tmp_path, batch_id, DeltaOffset("t", end, index).json)
    assert find_batch_before(Store.open(str(tmp_path)), "0", version) == expected


def test_what_is_no_position_in_a_table_is_passed_over(tmp_path):
    commit_batch(tmp_path, 0, DeltaOffset("t", 1).json)
    commit_batch(tmp_path, 1, '{"t":{"0":1}}')
    assert find_batch_before(Store.open(str(tmp_path)), "0", 2) == 0
    assert find_batch_before(Store.open(str(tmp_path)), "9", 2) is None


def test_a_batch_that_cannot_be_restored_is_none_to_go_back_to(tmp_path):
    for batch_id in range(3):
        commit_batch(tmp_path, batch_id, DeltaOffset("t", batch_id + 1).json)
    (tmp_path / "commits/1").write_text("v9")
    assert find_batch_before(Store.open(str(tmp_path)), "0", 2) == 0
