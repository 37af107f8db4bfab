"""Deploys of queries without Spark: a start commits the next batch, as a query without news would."""

from __future__ import annotations

import os
from pathlib import Path

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, task

from airflow_provider_ckpt.dags import deploy_dag, deploy_query, roll_back_query
from airflow_provider_ckpt.hooks.query_file import queries

HOME = Path(os.environ["DEPLOYS_HOME"])


def note(what: str, checkpoint: str) -> None:
    """Say what was done to a query."""
    with (HOME / "done").open("a") as done:
        done.write(f"{what} {Path(checkpoint).name}\n")


def stop(checkpoint: str) -> None:
    """The step that stops a query."""
    note("stop", checkpoint)


def start(checkpoint: str, logs: tuple[str, ...] = ("offsets", "commits")) -> None:
    """The step that starts it: one more batch."""
    last = max(int(path.name) for path in (Path(checkpoint) / "commits").glob("[0-9]*"))
    for log in logs:
        entry = Path(checkpoint) / log / str(last)
        entry.with_name(str(last + 1)).write_bytes(entry.read_bytes())
    note("start", checkpoint)


@task
def start_bad(checkpoint: str) -> None:
    """A version that fails in its first batch: with a commit, the deploy might be proven before its end is seen."""
    start(checkpoint, ("offsets",))
    raise ValueError("a bad version")


steps = {"stop": stop, "start": start, "start_previous": start}
more = {"good": {}, "bad.1": {"start": start_bad}, "closed": {"confs": {"spark.sql.shuffle.partitions": "8"}}}
for query in queries():
    if query.name in more:
        deploy_dag(query, **{**steps, **more[query.name]})

with DAG("asked", default_args={"retries": 0}):  # renders texts
    deploy_query(str(HOME / "asked"), backup_root=str(HOME / "kept"), group_id="deploy") >> EmptyOperator(
        task_id="then"
    )

with DAG("back"):
    roll_back_query(str(HOME / "back"), to_batch=2, stop=stop, start=start, sink="kafka") >> EmptyOperator(
        task_id="then"
    )
