"""The index that *Browse > Checkpoints* shows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Param

from airflow_provider_ckpt.dags import params
from airflow_provider_ckpt.dags.subject import dag_of
from airflow_provider_ckpt.operators.index import CheckpointIndexOperator


def index_dag(
    dag_id: str = "checkpoint_index",
    *,
    roots: Sequence[str] = (),
    index: str = "",
    backup_roots: Sequence[str] = (),
    checkpoint_conn_id: str | None = None,
    **dag: Any,
) -> DAG:
    """The DAG that writes the index every five minutes. Its arguments are the params of a run that does not give them.

    Args:
        dag_id: Its id.
        roots: Where checkpoints are; by default those of the queries of the query file.
        index: Directory of the index.
        backup_roots: Roots of backups; with them the page says when the newest backup of each query was made.
        checkpoint_conn_id: Connection of type ``checkpoint`` that opens all of them.
        **dag: Arguments of the DAG.
    """
    declared = {
        "roots": params.roots(roots),
        "queries": params.texts((), "Or: names of queries in the query file; all of them where neither is given"),
        "index": Param(index, type="string", description="Directory of the index"),
        "backup_roots": params.texts(backup_roots, "Roots of backups"),
        "checkpoint_conn_id": Param(checkpoint_conn_id, type=params.TEXT, description="Connection of type checkpoint"),
        "deploys": Param({}, type="object", description="Declarations by location of queries that no query file has"),
    }
    with dag_of(dag_id, declared, **{"schedule": timedelta(minutes=5), **dag}) as made:
        CheckpointIndexOperator(
            task_id="write_index",
            checkpoint_roots="{{ params.roots or None }}",
            query="{{ params.queries or None }}",
            **params.arguments_of("index", "backup_roots", "checkpoint_conn_id", "deploys"),
            retries=2,
            retry_delay=timedelta(minutes=1),
        )
    return made
