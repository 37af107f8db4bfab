"""The offset of an Iceberg source: what Iceberg writes, and what it refuses."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec.offsets.iceberg import START, IcebergOffset, of_value

VALUE = {"version": 1, "snapshot_id": 7, "position": 3, "scan_all_files": False}


@pytest.mark.parametrize(("offset", "text"), [
    (START, '{"version":1,"snapshot_id":-1,"position":-1,"scan_all_files":false}'),
    (IcebergOffset(2**63 - 1, 2**31 - 1, True), '{"version":1,"snapshot_id":9223372036854775807,"position":2147483647,"scan_all_files":true}'),
])  # fmt: skip
def test_the_text_is_that_of_iceberg(offset, text):
    assert offset.json == text


def test_other_keys_are_passed_over():
    assert of_value(VALUE | {"later": 1}) == IcebergOffset(7, 3)


@pytest.mark.parametrize(("wrong", "problem"), [
    ({"version": 2}, "in version 1"), ({"version": True}, "in version 1"), ({"version": None}, "in version 1"),
    ({"snapshot_id": 2**63}, "snapshot_id is not a number of 64 bits"), ({"snapshot_id": "7"}, "snapshot_id"),
    ({"position": 2**31}, "position is not a number of 32 bits"), ({"position": 1.0}, "position"),
    ({"scan_all_files": None}, "scan_all_files is neither"), ({"scan_all_files": "false"}, "scan_all_files is neither"),
])  # fmt: skip
def test_what_iceberg_refuses(wrong, problem):
    with pytest.raises(ValueError, match=problem):
        of_value(VALUE | wrong)


@pytest.mark.parametrize("value", [None, 5, [VALUE], {}])
def test_what_is_no_object(value):
    with pytest.raises(ValueError, match="not an offset of Iceberg"):
        of_value(value)
