"""Listener that explains failed tasks which run Spark and name a query: the option ``explain_failures``."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from airflow.listeners import hookimpl

log = logging.getLogger(__name__)
#: Parameters of a task or a DAG that name the query, and others of the notifier that they may have.
_NAMES, _OTHERS = ("checkpoint", "query"), ("checkpoint_conn_id", "query_file")
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
    named = named_query(context.get("params"))
    if not named:
        return
    from airflow_provider_ckpt.notifications.checkpoint import EXPLAINED, ExplainNotifier, try_of

    if try_of(ti) in EXPLAINED:  # the task has a notifier of its own
        return
    ExplainNotifier(**named)({**context, "exception": error})


def runs_spark(task: Any) -> bool:
    """True if a task runs Spark, by the names of its classes."""
    return any(word in kind.__name__ for kind in type(task).__mro__ for word in _SPARK)


def named_query(params: Any) -> dict[str, Any]:
    """What the parameters of a task say of its query, as arguments of the notifier; empty where they name none."""
    if not isinstance(params, Mapping):
        return {}
    said = {key: value for key in (*_NAMES, *_OTHERS) if isinstance(value := params.get(key), str) and value}
    return said if any(key in said for key in _NAMES) else {}
