"""The DAG that publishes positions, as it is made; tests/airflow runs it."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.dags import publish_dag

pytestmark = pytest.mark.airflow


def test_what_is_given_is_the_default_of_the_params():
    dag = publish_dag("mine", checkpoints=["/a"], group="g-{name}", kafka_conn_id="main")
    given = {
        "checkpoints": ["/a"],
        "group": "g-{name}",
        "kafka_conn_id": "main",
        "checkpoint_conn_id": None,
        "queries": [],
    }
    assert {**dag.params.dump()} == given
    assert dag.get_task("publish").checkpoint == "{{ params.checkpoints or None }}"
