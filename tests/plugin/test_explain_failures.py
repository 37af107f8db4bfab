"""The listener: which failed tasks it explains, and that it never raises."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace

import pytest

from airflow_provider_ckpt.notifications import checkpoint
from airflow_provider_ckpt.plugin import explain_failures
from airflow_provider_ckpt.plugin.checkpoints import CheckpointsPlugin
from airflow_provider_ckpt.plugin.explain_failures import on_task_instance_failed


class SparkSubmitOperator:
    """Of the name that counts."""


class BashOperator:
    """Another one."""


class OrdersOperator(SparkSubmitOperator):
    """A subclass of a user."""


@pytest.fixture
def explained(monkeypatch):
    """The checkpoints that were explained, with their connections."""
    found: list[tuple[str, str | None]] = []
    monkeypatch.setattr(checkpoint, "EXPLAINED", deque())
    monkeypatch.setattr(
        checkpoint.ExplainNotifier,
        "__call__",
        lambda self, context: found.append((self.checkpoint or self.query, self.checkpoint_conn_id)),
    )
    return found


def instance(task: object, params: object) -> SimpleNamespace:
    return SimpleNamespace(id="t", try_number=1, task=task, get_template_context=lambda: {"params": params})


@pytest.mark.parametrize(
    ("task", "params", "expected"),
    [
        (SparkSubmitOperator(), {"checkpoint": "s3://lake/orders"}, [("s3://lake/orders", None)]),
        (OrdersOperator(), {"checkpoint": "orders", "checkpoint_conn_id": "lake"}, [("orders", "lake")]),
        (SparkSubmitOperator(), {"query": "orders"}, [("orders", None)]),
        (SparkSubmitOperator(), {"checkpoint_conn_id": "lake"}, []),
        (SparkSubmitOperator(), {"checkpoint": ""}, []),
        (SparkSubmitOperator(), {"checkpoint": 3}, []),
        (SparkSubmitOperator(), {}, []),
        (SparkSubmitOperator(), None, []),
        (BashOperator(), {"checkpoint": "s3://lake/orders"}, []),
    ],
)
def test_tasks_that_run_spark_and_name_a_checkpoint(explained, task, params, expected):
    on_task_instance_failed("running", instance(task, params), ValueError("x"))
    assert explained == expected


def test_what_has_a_notifier_of_its_own_is_explained_once(explained):
    ti = instance(SparkSubmitOperator(), {"checkpoint": "s3://lake/orders"})
    checkpoint.EXPLAINED.append(checkpoint.try_of(ti))
    on_task_instance_failed("running", ti, None)
    assert explained == []


@pytest.mark.parametrize("ti", [None, object(), SimpleNamespace(task=SparkSubmitOperator(), get_template_context=3)])
def test_it_never_raises(explained, ti):
    """A task that somebody marks as failed comes from the API server, without a context."""
    on_task_instance_failed(None, ti, "marked")
    assert explained == []


def test_the_plugin_has_it_where_the_configuration_wants_it(monkeypatch):
    assert CheckpointsPlugin().listeners == []
    monkeypatch.setenv("AIRFLOW__CKPT__EXPLAIN_FAILURES", "True")
    assert CheckpointsPlugin().listeners == [explain_failures]
    monkeypatch.setenv("AIRFLOW__CKPT__EXPLAIN_FAILURES", "odd")
    assert CheckpointsPlugin().listeners == []
