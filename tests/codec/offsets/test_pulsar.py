"""The offset of a Pulsar source: message ids as the bytes of their protobuf."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec.offsets import pulsar as pulsar_offset


@pytest.mark.parametrize(("data", "position"), [
    ([8, 11, 16, 101, 24, 1], (11, 101, -1)), ([8, 11, 16, -25, 1, 32, 3], (11, 231, 3)), ([], (0, 0, -1)), ([8], (0, 0, -1)),
])  # fmt: skip
def test_ledger_entry_and_index(data, position):
    assert pulsar_offset.fits({"t": data}) and pulsar_offset.positions({"t": data}) == {"t": position}


@pytest.mark.parametrize("value", [[], {"t": 5}, {"t": [256]}, {"t": [-129]}, {"t": [True]}, {"t": ["8"]}])
def test_what_is_none(value):
    assert not pulsar_offset.fits(value)


def test_a_number_that_never_ends_takes_no_memory():
    assert pulsar_offset.positions({"t": [8, *[255] * 100_000]}) == {"t": (0, 0, -1)}
