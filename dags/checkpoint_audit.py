"""Audit a fleet every hour: what its streams did since the last run, as tables and one page.

    audit

The task reads the checkpoints below the roots with Spark. It keeps a history table, with what Spark itself
purges after 100 batches, and makes out of it tables (throughput, delay, stalls, gaps, changed confs, restarts and
rollbacks, watermark lag, empty batches, cost) and the page `audit.html`, both below `home`.

Spark runs on `local[2]` in the task, unless `CKPT_AUDIT_SPARK_CONN` names a connection of type `spark` or
`spark_connect`: then it runs there, and this package is sent to the workers. They also need pyarrow, fsspec with a
driver of the storage, pendulum and tenacity. Set the roots in `CKPT_AUDIT_ROOTS`, separated by spaces, and
`CKPT_AUDIT_HOME`, or for one run in its params. `checkpoint` has to be a place that Spark itself can write, `home` one
for fsspec.
"""

from __future__ import annotations

import json
import os
import tempfile
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG, Param, task

from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook, airflow_errors

SPARK_CONN = os.environ.get("CKPT_AUDIT_SPARK_CONN")

PARAMS = {
    "roots": Param(
        os.environ.get("CKPT_AUDIT_ROOTS", "").split(),
        type="array",
        items={"type": "string"},
        description="Where checkpoints are, relative to the connection's base or any fsspec URL",
    ),
    "home": Param(os.environ.get("CKPT_AUDIT_HOME", ""), type="string", description="Where the audit is kept"),
    "checkpoint": Param(None, type=["null", "string"], description="Of the stream of the audit; below home by default"),
    "checkpoint_conn_id": Param(None, type=["null", "string"], description="Connection of type checkpoint"),
    "source_types": Param({}, type="object", description="Source type by source id, as the option sourceTypes"),
}

with DAG(
    "checkpoint_audit",
    schedule="@hourly",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,  # one stream has one checkpoint
    params=PARAMS,
    tags=["ckpt"],
    doc_md=__doc__,
) as dag:

    @task.pyspark(
        conn_id=SPARK_CONN,
        config_kwargs={} if SPARK_CONN else {"spark.master": "local[2]"},
        retries=2,  # a run that is repeated reads on where the last one ended
        retry_delay=timedelta(minutes=1),
    )
    def audit(spark: Any = None, params: Any = None) -> dict[str, Any]:
        """Take in, merge, judge. The XCom has the page, and how many rows each table has."""
        from airflow_provider_ckpt.spark.audit import PAGE, Audit, run
        from airflow_provider_ckpt.spark.package import package

        if not params["roots"] or not params["home"]:
            raise AirflowFailException("Set the params roots and home, or CKPT_AUDIT_ROOTS and CKPT_AUDIT_HOME.")
        hook = CheckpointHook(params["checkpoint_conn_id"])
        connection = hook.get_conn()
        options = (connection.extra_dejson.get("storage_options") or {}) if connection else {}
        home = hook.url(params["home"])
        with airflow_errors(), tempfile.TemporaryDirectory() as directory:
            if SPARK_CONN:
                spark.addArtifacts(str(package(f"{directory}/ckpt.zip")), pyfile=True)
            counts = run(
                spark,
                Audit(
                    tuple(map(hook.url, params["roots"])),
                    home,
                    params["checkpoint"] or f"{home}/checkpoint",
                    json.loads(options) if isinstance(options, str) else options,
                    {"sourceTypes": json.dumps(params["source_types"])} if params["source_types"] else {},
                ),
            )
        return {"page": f"{home}/{PAGE}", "rows": counts}

    audit()
