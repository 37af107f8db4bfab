"""Listener that explains failed tasks which run Spark and name a checkpoint: the option ``explain_failures``."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from airflow.listeners import hookimpl

log = logging.getLogger(__name__)
#: Parameters of a task or a DAG that name the checkpoint and the connection that opens it.
_CHECKPOINT, _CONNECTION = ("checkpoint", "checkpoint_location"), ("checkpoint_conn_id",)
#: Classes of tasks that run Spark, or have it run, have one of these in their name.
_SPARK = ("Spark", "Databricks", "Emr", "Livy", "Dataproc", "Glue")


@hookimpl  # type: ignore[untyped-decorator]  # pluggy's, which mypy does not follow
def on_task_instance_failed(previous_state: Any, task_instance: Any, error: Any) -> None:
    """Explain the failure in the log of the task; Airflow calls it in the process of the task, once for each try."""
    try:
        _explain(task_instance, error)
    except Exception as failed:  # Airflow logs what a listener raises, and the task has failed for another reason
        log.warning("ckpt could not explain the failure: %s", type(failed).__name__)


def _explain(ti: Any, error: Any) -> None:
    task = getattr(ti, "task", None)
    if task is None or not hasattr(ti, "get_template_context") or not runs_spark(task):
        return
    context = ti.get_template_context()
    named = named_checkpoint(context.get("params"))
    if named is None:
        return
    from airflow_provider_ckpt.notifications.checkpoint import EXPLAINED, ExplainNotifier, try_of

    if try_of(ti) in EXPLAINED:  # the task has a notifier of its own
        return
    checkpoint, conn_id = named
    ExplainNotifier(checkpoint=checkpoint, checkpoint_conn_id=conn_id)({**context, "exception": error})


def runs_spark(task: Any) -> bool:
    """True if a task runs Spark, by the names of its classes."""
    return any(word in kind.__name__ for kind in type(task).__mro__ for word in _SPARK)


def named_checkpoint(params: Any) -> tuple[str, str | None] | None:
    """The checkpoint that the parameters of a task name, and the connection that opens it; None without one."""
    if not isinstance(params, Mapping):
        return None
    checkpoint = next((value for key in _CHECKPOINT if isinstance(value := params.get(key), str) and value), None)
    conn_id = next((value for key in _CONNECTION if isinstance(value := params.get(key), str) and value), None)
    return None if checkpoint is None else (checkpoint, conn_id)
