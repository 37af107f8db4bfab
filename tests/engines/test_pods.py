"""A pod that may still run is one, whatever its phase says."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.engines.pods import may_run, name_of

OVER, RUNS = {"state": {"terminated": {"exitCode": 0}}}, {"state": {"running": {}}}


@pytest.mark.parametrize(
    ("status", "runs"),
    [
        ({"phase": "Succeeded", "containerStatuses": [OVER]}, False),
        ({"phase": "Failed", "containerStatuses": [OVER, OVER]}, False),
        ({"phase": "Failed"}, False),
        ({"phase": "Failed", "containerStatuses": [OVER, RUNS]}, True),
        ({"phase": "Failed", "containerStatuses": [OVER], "initContainerStatuses": [RUNS]}, True),
        ({"phase": "Running", "containerStatuses": [OVER]}, True),
        ({"phase": "Unknown"}, True),
        ({"phase": "Pending"}, True),
        ({}, True),
    ],
)
def test_a_pod_is_over_when_its_node_has_seen_each_container_end(status, runs):
    assert may_run({"status": status}) is runs


def test_its_name_is_for_people():
    assert (name_of({"metadata": {"name": "orders-driver"}}), name_of({})) == ("orders-driver", "without a name")
