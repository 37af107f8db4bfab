"""Each parameter of Airflow's classes that takes a duration takes ISO 8601, 36h and a timedelta, and means the same.

The parameters that Airflow itself defines (``timeout``, ``poke_interval``, ``execution_timeout``) are Airflow's: seconds or
a timedelta.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from airflow.sdk import Asset

from airflow_provider_ckpt import operators, sensors, triggers
from airflow_provider_ckpt.changes.reset.make import ResetRequest
from airflow_provider_ckpt.hooks.checkpoint import duration_ms_of
from airflow_provider_ckpt.operators.changes.asked import asked_of
from airflow_provider_ckpt.operators.changes.reset import CheckpointResetOffsetsOperator
from airflow_provider_ckpt.operators.changes.rollback import CheckpointRollbackOperator
from airflow_provider_ckpt.operators.gate import CheckpointGateOperator
from airflow_provider_ckpt.operators.prune import CheckpointPruneOperator
from airflow_provider_ckpt.operators.runs import QueryStartOperator
from airflow_provider_ckpt.operators.windows import CheckpointWindowsOperator
from airflow_provider_ckpt.sensors.checkpoint import CheckpointDataLossSensor, CheckpointLagSensor
from airflow_provider_ckpt.waiting.windows import Windows

pytestmark = pytest.mark.airflow

#: What waits for a batch in flight before it fences.
FENCING = ("CheckpointFenceOperator", "CheckpointFencingOperator", "CheckpointRestoreOperator", "QueryStopOperator")
#: How each of them is read, by class and parameter.
READ: dict[tuple[str, str], Callable[[Any], Any]] = {
    **{(kind, "wait_for_batch"): lambda given: duration_ms_of("wait_for_batch", given) / 1000 for kind in FENCING},
    ("QueryStartOperator", "commit_within"): lambda given: QueryStartOperator(
        task_id="t", query="q", commit_within=given
    )._within_s(None),
    ("CheckpointPruneOperator", "grace"): lambda given: (
        CheckpointPruneOperator(task_id="t", backup_root="r", keep_last=1, grace=given).grace_ms / 1000
    ),
    ("CheckpointChangeOperator", "quiet_period"): lambda given: CheckpointRollbackOperator(
        task_id="t", checkpoint="c", to_batch=1, quiet_period=given
    )._quiet_s(),
    ("CheckpointResetOffsetsOperator", "by_duration"): lambda given: (
        asked_of(
            CheckpointResetOffsetsOperator(task_id="t", checkpoint="c", by_duration=given), ResetRequest, source=None
        )
        .goal()
        .duration_ms
        / 1000
    ),
    ("CheckpointLagSensor", "max_age"): lambda given: _seconds_of(
        CheckpointLagSensor(task_id="t", checkpoint="c", sources={"0": "rate"}, max_age=given)._spelled()["max_age"]
    ),
    ("CheckpointDataLossSensor", "will_lose_data_within"): lambda given: _seconds_of(
        CheckpointDataLossSensor(
            task_id="t", checkpoint="c", sources={"0": "rate"}, will_lose_data_within=given
        )._spelled()["will_lose_data_within"]
    ),
    ("CheckpointQueriesOperator", "read_timeout"): lambda given: duration_ms_of("read_timeout", given) / 1000,
    ("CheckpointGateOperator", "will_lose_data_within"): lambda given: (
        CheckpointGateOperator(task_id="t", checkpoint="c", will_lose_data_within=given)._within_ms() / 1000
    ),
    ("CheckpointWindowsOperator", "window"): lambda given: pytest.approx(
        _seconds(CheckpointWindowsOperator(task_id="t", checkpoint="c", asset=Asset("a"), window=given).window)
    ),
}


def _seconds_of(kept: Any) -> float:
    """A duration as a trigger keeps it, when it is read."""
    return duration_ms_of("given", json.loads(json.dumps(kept))) / 1000


def _seconds(window: Any) -> float:
    first, second = list(Windows(window).closed(0, 100 * 86_400_000))[:2]
    return (second.start_ms - first.start_ms) / 1000


def parameters() -> Iterator[tuple[str, str]]:
    """Each parameter of ours that a timedelta may be given for."""
    for package in (operators, sensors, triggers):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for name, item in vars(importlib.import_module(module.name)).items():
                if inspect.isclass(item) and item.__module__ == module.name and "__init__" in vars(item):
                    given = inspect.signature(item.__init__).parameters.values()
                    yield from ((name, each.name) for each in given if "timedelta" in str(each.annotation))


def test_every_parameter_is_shown():
    assert set(parameters()) == set(READ)


@pytest.mark.parametrize("name", READ, ids=".".join)
def test_both_spellings_and_a_timedelta_mean_the_same(name):
    for given in ("12h", "PT12H", timedelta(hours=12)):
        assert READ[name](given) == 12 * 3600
