"""The id of a run names its object, and the token with which it was started."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from airflow_provider_ckpt.engines import spark_application
from airflow_provider_ckpt.engines.connection import Connection
from airflow_provider_ckpt.engines.kubeflow import KubeflowEngine
from airflow_provider_ckpt.engines.spark_application import place_of, pointer
from airflow_provider_ckpt.errors import EngineError
from airflow_provider_ckpt.query.engine import DeclaredEngine


def test_an_id_has_the_place_of_its_object():
    assert place_of("spark/orders/uid/orders-3") == ("spark", "orders")
    assert pointer("a/b~c") == "a~1b~0c"


@pytest.mark.parametrize("run_id", ["app-7", "spark/orders", "spark/orders/uid/-/x", "../x/uid/-", "a:1:2"])
def test_the_id_of_another_engine_is_none(run_id):
    with pytest.raises(EngineError, match="is none of a SparkApplication"):
        place_of(run_id)


def test_a_manifest_that_is_not_there_is_told(tmp_path):
    declared = DeclaredEngine("kubeflow", application={"manifest": str(tmp_path / "none.yaml")})
    with pytest.raises(EngineError, match="the manifest of orders cannot be read"):
        KubeflowEngine(declared, "orders", lambda connection: pytest.fail(connection)).look(())


def test_a_cluster_is_opened_again_before_its_token_is_old(monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(spark_application, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(spark_application, "open_cluster", lambda connection: (connection, clock.now))
    declared = DeclaredEngine("kubeflow", "k8s", {"manifest": "orders.yaml"})
    engine = KubeflowEngine(declared, "orders", Connection)
    seen = []
    for clock.now in (0.0, 100.0, 130.0, 140.0):
        seen.append(engine._cluster)
    assert seen == [(Connection("k8s"), at) for at in (0.0, 0.0, 130.0, 130.0)]
