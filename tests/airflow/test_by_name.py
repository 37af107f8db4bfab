"""Operators and a sensor by the name of a query, in a real Airflow with the option ``file`` of ``[ckpt]``."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.storage.store import Store
from tests.airflow.conftest import read_run, run

pytestmark = pytest.mark.airflow


def test_a_query_is_gated_backed_up_and_rolled_back_by_its_name(airflow_env, golden, tmp_path):
    checkpoint, file = golden("agg-hdfs"), tmp_path / "ckpt.yaml"
    file.write_text(
        "format_version: 1\ndefaults: {backups: 'backups/{query}', undo: 'undo/{query}', spark_version: '4.3'}\n"
        f"queries:\n  orders:\n    checkpoint: {checkpoint}\n    sink: kafka\n    sources: [file]\n"
        "    operators: [stateStoreSave]\n    confs: {spark.sql.shuffle.partitions: 2}\n"
    )
    env = {**airflow_env, "AIRFLOW__CKPT__FILE": str(file), "AIRFLOW_CONN_LAKE": '{"conn_type": "checkpoint"}'}
    run(["dags", "test", "by_name_orders"], env)
    states, values = read_run(env, "by_name_orders")
    assert states == dict.fromkeys(("wait", "gate", "backup", "plan", "rollback"), "success")
    assert {values[task]["query"] for task in ("gate", "backup", "plan", "rollback")} == {"orders"}
    assert values["backup"]["declared"] == {"backup_root": f"{file} line 2", "checkpoint": f"{file} line 5"}
    assert values["plan"]["declared"]["sink"] == f"{file} line 6"
    assert values["rollback"]["receipt"]["status"] == "applied"
    assert values["rollback"]["receipt"]["plan_id"] == values["plan"]["plan_id"]
    assert observe(Store.open(str(checkpoint))).latest_committed == 5
    assert (tmp_path / "backups/orders").is_dir() and (tmp_path / "undo/orders").is_dir()
