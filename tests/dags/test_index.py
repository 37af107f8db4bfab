"""The DAG that writes the index, as it is made; tests/browser runs it."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.dags import index_dag

pytestmark = pytest.mark.airflow


def test_what_is_given_is_the_default_of_the_params():
    dag = index_dag("mine", roots=["/lake"], index="/index", backup_roots=["/backups"], checkpoint_conn_id="lake")
    given = {"roots": ["/lake"], "index": "/index", "backup_roots": ["/backups"], "checkpoint_conn_id": "lake"}
    assert {**dag.params.dump()} == {**given, "deploys": {}, "queries": []}
    task = dag.get_task("write_index")
    assert (task.checkpoint_roots, task.index) == ("{{ params.roots or None }}", "{{ params.index }}")
