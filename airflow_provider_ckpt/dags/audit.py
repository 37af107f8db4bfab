"""The audit of a fleet, by Spark."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG, Param, task

from airflow_provider_ckpt.dags import params
from airflow_provider_ckpt.dags.subject import dag_of, locations_of
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook, airflow_errors, options_of
from airflow_provider_ckpt.hooks.extra import extra_of
from airflow_provider_ckpt.hooks.query_file import as_opened


def audit_dag(
    dag_id: str = "checkpoint_audit",
    *,
    roots: Sequence[str] = (),
    home: str = "",
    spark_conn_id: str | None = None,
    **dag: Any,
) -> DAG:
    """The DAG that audits every checkpoint under some roots each hour.

    Args:
        dag_id: Its id.
        roots: The param ``roots`` of a run that does not give it.
        home: The param ``home`` of a run that does not give it.
        spark_conn_id: Connection of type ``spark`` or ``spark_connect``; without one ``local[2]`` in the task.
        **dag: Arguments of the DAG.
    """
    declared = {
        "roots": params.roots(roots),
        "queries": params.QUERIES,
        "home": Param(home, type="string", description="Where the audit is kept"),
        "checkpoint": params.optional(params.TEXT, "Of the stream of the audit; below home by default"),
        "checkpoint_conn_id": params.CONN_ID,
        "source_types": Param({}, type="object", description="Source type by source id, as the option sourceTypes"),
    }
    plain = {"schedule": "@hourly", "render_template_as_native_obj": False}
    again: dict[str, Any] = {"retries": 2, "retry_delay": timedelta(minutes=1)}  # it reads on where the last run ended
    with dag_of(dag_id, declared, **{**plain, **dag}) as made:
        if hasattr(task, "pyspark"):
            session = {} if spark_conn_id else {"spark.master": "local[2]"}
            decorated = task.pyspark(task_id="audit", conn_id=spark_conn_id, config_kwargs=session, **again)
            decorated(audit_at if spark_conn_id else audit)()
        else:
            task(task_id="audit")(no_spark)()
    return made


def no_spark() -> None:
    """Refuse where Spark's provider is not installed."""
    raise AirflowFailException("The audit needs apache-airflow-providers-apache-spark, which is not installed here.")


def audit_at(spark: Any = None, params: Any = None) -> dict[str, Any]:
    """The audit on a cluster, whose workers get this package."""
    return audit(spark, params, sends=True)


def audit(spark: Any = None, params: Any = None, *, sends: bool = False) -> dict[str, Any]:
    """Take in, merge, judge. The XCom has the page, and how many rows each table has."""
    from airflow_provider_ckpt.spark.audit import PAGE, Audit, run
    from airflow_provider_ckpt.spark.package import package

    if not (params["roots"] or params["queries"]) or not params["home"]:
        raise AirflowFailException("Set the params roots or queries, and home; or roots and home of audit_dag.")
    hook = CheckpointHook(params["checkpoint_conn_id"])
    with airflow_errors(), tempfile.TemporaryDirectory() as directory:
        connection, home = hook.get_conn(), hook.url(as_opened(params["home"]))
        if connection and extra_of(connection).get("storage_conn_id"):
            raise CheckpointError(
                f"the connection {connection.conn_id} has a storage_conn_id, which Spark does not read",
                hint="Give the audit a connection with the credentials in storage_options.",
            )
        if sends:
            spark.addArtifacts(str(package(f"{directory}/ckpt.zip")), pyfile=True)
        counts = run(
            spark,
            Audit(
                (*map(hook.url, as_opened(params["roots"])), *locations_of(params["queries"])),
                home,
                params["checkpoint"] or f"{home}/checkpoint",
                options_of(connection) if connection else {},
                {"sourceTypes": json.dumps(params["source_types"])} if params["source_types"] else {},
            ),
        )
    return {"page": f"{home}/{PAGE}", "rows": counts}
