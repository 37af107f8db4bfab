"""The trigger that asks an engine; the operator and the sensor are tested with it."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.triggers.runs import QueryRunTrigger
from tests.running.shop import fired, of_shop  # noqa: F401

pytestmark = pytest.mark.airflow


def test_a_wait_ends_at_its_deadline_and_at_an_error(shop):
    said = {"query_file": str(shop.file), "deadline_ms": 0}
    assert fired(QueryRunTrigger(query="orders", states=("stopped",), **said)) == {
        "status": "timeout",
        "text": "orders is live",
    }
    assert fired(QueryRunTrigger(query="order", states=("live",), **said))["status"] == "error"
