"""The offset of a Hudi source: an instant, of one of two clocks."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec.offsets import hudi as hudi_offset


@pytest.mark.parametrize(("value", "position", "scale"), [
    ({"commitTime": "20240101120000"}, 20240101120000000, "commit time"), ({"commitTime": "000"}, 0, "commit time"),
    ({"offsetCommitTime": "20240101120000001"}, 20240101120000001, "completion time"),
])  # fmt: skip
def test_an_instant_is_a_number_of_its_clock(value, position, scale):
    assert hudi_offset.fits(value)
    assert (hudi_offset.positions(value), hudi_offset.scales(value)) == ({"table": (position,)}, {"table": scale})


@pytest.mark.parametrize("value", [
    None, {}, {"commitTime": 20240101}, {"commitTime": ""}, {"commitTime": "x"}, {"commitTime": "9" * 18}, {"commitTime": "\u0662"},
    {"commitTime": "1", "offsetCommitTime": "1"},
])  # fmt: skip
def test_what_is_none(value):
    assert not hudi_offset.fits(value)
