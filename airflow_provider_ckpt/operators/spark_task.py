"""The confs of the task that will restart a query, as it will have them when it runs."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from airflow.providers.common.compat.sdk import BaseHook

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.extra import extra_of
from airflow_provider_ckpt.query.deploy import parse_conf_file
from airflow_provider_ckpt.query.spark_version import conf_text
from airflow_provider_ckpt.storage.store import Store

SUPPORTED = "a SparkSubmitOperator or a @task.pyspark task"


def task_id_of(task: Any) -> str | None:
    """The task id of a task that is given as an operator, as the result of a ``@task`` call, or by its id."""
    if task is None or isinstance(task, str):
        return task
    return str(getattr(task, "operator", task).task_id)


def confs_of(dag: Any, task_id: str, context: Any) -> dict[str, str]:
    """The confs that a task of a DAG gives to Spark; its templates are rendered in ``context``.

    Raises CheckpointError when there is no such task, or its confs are not known.
    """
    if task_id not in dag.task_ids:
        raise CheckpointError(
            f"the DAG {dag.dag_id} has no task {task_id!r}", hint=f"spark_task must be {SUPPORTED} of the same DAG."
        )
    task = dag.get_task(task_id)
    kinds = {kind.__name__ for kind in type(task).__mro__}
    if "SparkSubmitOperator" in kinds:
        confs = _submitted(task, context)
    elif kinds & {"PySparkOperator", "_PySparkDecoratedOperator"}:
        confs = _of_session(task, context)
    else:
        raise CheckpointError(
            f"ckpt cannot read the confs of task {task_id} ({type(task).__name__})",
            hint=f"spark_task must be {SUPPORTED} that is not mapped; for other tasks give confs or conf_file.",
        )
    return {str(key): conf_text(value) for key, value in confs.items()}


def read_text(location: str) -> str:
    """A small file: a path of this machine, or a URL. Raises CheckpointError when it cannot be read as UTF-8."""
    directory, name = posixpath.split(location)
    try:
        return Store.open(directory or ".").read(name).decode()
    except UnicodeDecodeError as error:
        raise CheckpointError(f"not a text file: {error}", location=location) from error


def _submitted(task: Any, context: Any) -> Mapping[str, Any]:
    """``--properties-file`` and over it ``--conf``, as spark-submit has it. The connection sets no SQL conf."""
    properties = _rendered(task, "properties_file", context)
    return {
        **(parse_conf_file(read_text(properties)) if properties else {}),
        **(_rendered(task, "conf", context) or {}),
    }


def _of_session(task: Any, context: Any) -> Mapping[str, Any]:
    """The extra fields of the connection that are confs, and over them ``config_kwargs``."""
    conn_id = _rendered(task, "conn_id", context)
    extra = extra_of(BaseHook.get_connection(conn_id)) if conn_id else {}
    confs = {key: value for key, value in extra.items() if key.startswith("spark.")}
    return {**confs, **(_rendered(task, "config_kwargs", context) or {})}


def _rendered(task: Any, name: str, context: Any) -> Any:
    """One attribute as the task will see it; the task itself is left as it is."""
    value = getattr(task, name)
    if name not in task.template_fields or not value:
        return value
    if callable(value):
        return value(context=context, jinja_env=task.get_template_env())
    return task.render_template(value, context)
