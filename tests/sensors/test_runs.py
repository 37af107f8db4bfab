"""The sensor of where a query runs."""

from __future__ import annotations

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, TaskDeferred

from airflow_provider_ckpt.operators.checkpoint import QueryStopOperator
from airflow_provider_ckpt.sensors.checkpoint import QueryStatusSensor
from tests.operators.task import Task
from tests.running.shop import fired, of_shop  # noqa: F401

pytestmark = pytest.mark.airflow


def test_a_status_is_waited_for_and_what_is_unknown_is_none(shop):
    assert shop(QueryStatusSensor)["status"]["state"] == "live"
    sensor = shop.task(QueryStatusSensor, state=["stopped", "ended"], deferrable=True, poke_interval=0)
    shop.engine.silent_at = frozenset(range(shop.engine.calls + 1, shop.engine.calls + 3))
    with pytest.raises(TaskDeferred) as deferred:
        sensor.execute({"ti": Task()})
    shop.engine.silent_at = frozenset()
    shop(QueryStopOperator)
    told = sensor.execute_complete({"ti": Task()}, fired(deferred.value.trigger))
    assert told["status"]["state"] == "stopped"
    with pytest.raises(AirflowFailException, match="state must be of live, stopped, ended"):
        shop(QueryStatusSensor, state="unknown")
