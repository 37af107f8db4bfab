"""Audit a fleet every hour: what its streams did since the last run, as tables and one page.

    audit

The task reads the checkpoints below the roots with Spark. It keeps a history table, with what Spark itself
purges after 100 batches, and makes out of it tables (throughput, delay, stalls, gaps, changed confs, restarts and
rollbacks, watermark lag, empty batches, cost) and the page `audit.html`, both below `home`.

Spark runs on `local[2]` in the task, unless `CKPT_AUDIT_SPARK_CONN` names a connection of type `spark` or
`spark_connect`: then it runs there, and this package is sent to the workers. They also need pyarrow, fsspec with a
driver of the storage, pendulum and tenacity. Set the roots in `CKPT_AUDIT_ROOTS`, separated by spaces, and
`CKPT_AUDIT_HOME`, or for one run in its params, where `queries` has names of the query file. `checkpoint` has to be a
place that Spark itself can write, `home` one for fsspec.
"""

import os

from airflow_provider_ckpt.dags import audit_dag

dag = audit_dag(
    roots=os.environ.get("CKPT_AUDIT_ROOTS", "").split(),
    home=os.environ.get("CKPT_AUDIT_HOME", ""),
    spark_conn_id=os.environ.get("CKPT_AUDIT_SPARK_CONN"),
    doc_md=__doc__,
)
