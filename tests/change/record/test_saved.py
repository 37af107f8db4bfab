"""What a record says of the files that a change has saved."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.plan.facts import Saved
from airflow_provider_ckpt.change.record.saved import saved_fields, saved_from
from airflow_provider_ckpt.storage.access import Attributes, access

HAS = Attributes(access(1000, 1000, 0o640), {"user.team": b"\xff"}, 5_000_000_001)
TOLD = saved_fields(3, "ab", HAS)["attributes"]


@pytest.mark.parametrize("attributes", [None, HAS, Attributes(access(0, 0, 0o644))])
def test_it_is_read_as_it_was_written(attributes):
    assert saved_from(saved_fields(3, "ab", attributes)) == Saved(3, "ab", attributes)


@pytest.mark.parametrize(
    "damage",
    [
        {"mode": 0o10000},
        {"owner": -1},
        {"owner": True},
        {"group": "root"},
        {"modified_ns": 1 << 64},
        {"extended": {"user.team": "?"}},
        {"extended": []},
    ],
    ids=str,
)
def test_what_no_disk_can_hold_is_refused(damage):
    with pytest.raises((TypeError, KeyError, ValueError, AttributeError)):
        saved_from({"size": 3, "sha256": "ab", "attributes": {**TOLD, **damage}})
