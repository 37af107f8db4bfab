"""What a broker says of topics at one moment."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.sources.kafka.extent import Extent

EXTENT = Extent({"t": "id"}, {("t", 10): 5, ("t", 9): 0}, {("t", 10): 20, ("t", 9): 0})


def test_partitions_ascend_by_their_numbers():
    assert EXTENT.partitions == (("t", 9), ("t", 10))


@pytest.mark.parametrize(("offset", "clamped"), [(-1, 5), (5, 5), (7, 7), (20, 20), (99, 20)])
def test_an_offset_is_clamped_to_what_the_partition_has(offset, clamped):
    assert EXTENT.clamped(("t", 10), offset) == clamped


def test_an_unknown_partition_cannot_be_clamped():
    with pytest.raises(KeyError):
        EXTENT.clamped(("t", 0), 1)
