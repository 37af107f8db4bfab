"""A DAG with a task for each case, of which each fails; the cases are in the file FAILING_CASES."""

from __future__ import annotations

import json
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.smtp.notifications.smtp import SmtpNotifier
from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG, task

from airflow_provider_ckpt.notifications.checkpoint import ExplainNotifier

CASES = json.loads(Path(os.environ["FAILING_CASES"]).read_text())
APPLICATION = Path(__file__).parents[1] / "start_query.py"
TOLD = Path(os.environ["FAILING_CASES"]).parent / "told"
CONFS = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}
MAIL = SmtpNotifier(
    to="oncall@example.com",
    from_email="airflow@example.com",
    subject="{{ explanation_headline }}",
    html_content="<pre>{{ explanation | e }}</pre>",
)


def keep(context: Any) -> None:
    """Keep what was said, by task; of a DAG by its id."""
    ti = context.get("ti")
    process = "dag" if context.get("reason") else "task" if context.get("exception") else "later"
    name = f"{ti.task_id if ti else 'none'}.{process}.json"
    told = {key: context[key] for key in ("explanation", "explanation_headline")}
    TOLD.mkdir(exist_ok=True)
    (TOLD / name).write_text(json.dumps({**told, "pid": os.getpid()}))


def in_process(home: str, what: str, spark: Any = None) -> None:
    """Start the query in the process of the task."""
    if what == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.path.insert(0, str(APPLICATION.parent))
    from start_query import start

    start(home, what, spark)


def failing(case: dict[str, Any]) -> Any:
    """The task of a case."""
    name, home, what = case["name"], case["home"], case["what"]
    told = ExplainNotifier(
        checkpoint="{{ params.checkpoint }}",
        sink=case["sink"],
        notifiers=[keep, MAIL] if name == "delta_gone" else [keep],
    )
    common: dict[str, Any] = {"params": {"checkpoint": case["checkpoint"]}, "on_failure_callback": told}
    application = "/nowhere/orders.py" if what == "missing" else str(APPLICATION)
    match case["runs"]:
        case "submit":
            return SparkSubmitOperator(
                task_id=name, application=application, application_args=[home, what], conf=CONFS, **common
            )
        case "pyspark":

            @task.pyspark(task_id=name, conn_id="spark_default", config_kwargs=CONFS, **common)
            def session(spark: Any = None) -> None:
                in_process(home, what, spark)

            return session()
        case "python":
            return PythonOperator(task_id=name, python_callable=in_process, op_args=[home, what], **common)
        case "bash":
            line = f"spark-submit --master 'local[2]' {application} {home} {what}"
            return BashOperator(task_id=name, bash_command=line, append_env=True, **common)
    return BashOperator(task_id=name, bash_command=f"cat {home}/driver.log; exit 1", **common)


with DAG("failing", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC), max_active_tasks=2):
    for each in CASES:
        failing(each)

with DAG(
    "whole",
    schedule=None,
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    on_failure_callback=ExplainNotifier(checkpoint=CASES[0]["checkpoint"], notifiers=[keep]),
):
    # the listener explains it, for it has no notifier of its own, and the callback of the DAG does once more
    first = CASES[0]
    SparkSubmitOperator(
        task_id="listened",
        application=str(APPLICATION),
        application_args=[first["home"], "query"],
        conf=CONFS,
        params={"checkpoint": first["checkpoint"]},
    )
