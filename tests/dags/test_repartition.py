"""The DAG of a repartition, as it is made; tests/airflow runs it."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.dags import repartition_dag

pytestmark = pytest.mark.airflow


def test_a_backup_is_taken_between_the_approval_and_the_repartition():
    dag = repartition_dag("mine")
    assert dag.get_task("backup").upstream_task_ids == {"approve"}
    assert dag.get_task("repartition").upstream_task_ids == {"plan", "backup"}
    assert dag.get_task("repartition").retries == 3 and dag.get_task("plan").partitions == "{{ params.partitions }}"
