"""A cluster is reached by a connection as Airflow keeps it, by a kubeconfig, or from inside of it."""

from __future__ import annotations

import json
import sys

import pytest

from airflow_provider_ckpt.engines import open_cluster as opening
from airflow_provider_ckpt.engines.connection import Connection
from airflow_provider_ckpt.engines.open_cluster import open_cluster
from airflow_provider_ckpt.errors import EngineError, EngineUnknownError

PLAIN = {
    "current-context": "shop",
    "contexts": [{"name": "shop", "context": {"cluster": "one", "user": "ann", "namespace": "spark"}}],
    "clusters": [{"name": "one", "cluster": {"server": "http://127.0.0.1:9"}}],
    "users": [{"name": "ann", "user": {"token": "hush-hush"}}],
}


@pytest.fixture(autouse=True)
def nothing_else(monkeypatch, tmp_path):
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(opening, "IN_CLUSTER", tmp_path / "in-cluster")


@pytest.mark.parametrize("key", ["kube_config", "extra__kubernetes__kube_config"])
def test_a_connection_has_its_kubeconfig_and_its_namespace(key):
    assert open_cluster(Connection("k8s", extra={key: json.dumps(PLAIN)})).namespace == "spark"
    assert open_cluster(Connection("k8s", extra={key: PLAIN, "namespace": "other"})).namespace == "other"


def test_the_environment_has_a_kubeconfig(monkeypatch, tmp_path):
    (tmp_path / "config.yaml").write_text(json.dumps(PLAIN))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config.yaml"))
    cluster = open_cluster(None)
    assert cluster.rest._headers["Authorization"] == "Bearer hush-hush"
    with pytest.raises(EngineUnknownError, match="Kubernetes at http://127.0.0.1:9 does not answer"):
        cluster.rest.ask("GET", "apis")


def test_a_pod_reaches_its_own_cluster(monkeypatch, tmp_path):
    inside = tmp_path / "in-cluster"
    inside.mkdir()
    for name, text in (("namespace", "spark\n"), ("token", "hush-hush\n")):
        (inside / name).write_text(text)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setattr(opening, "_tls", lambda access: None)
    for connection in (None, Connection("k8s", extra={"in_cluster": True})):
        cluster = open_cluster(connection)
        assert (cluster.namespace, cluster.rest._headers["Authorization"]) == ("spark", "Bearer hush-hush")


def test_a_program_gives_the_token_or_says_nothing():
    said = "import json; print(json.dumps({'status': {'token': 'of-a-program'}}))"
    for code, token in ((said, "of-a-program"), ("raise SystemExit(1)", None)):
        user = {"name": "ann", "user": {"exec": {"command": sys.executable, "args": ["-c", code], "apiVersion": "v1"}}}
        connection = Connection("k8s", extra={"kube_config": json.dumps({**PLAIN, "users": [user]})})
        if token is None:
            with pytest.raises(EngineUnknownError, match="gives no credentials: CalledProcessError"):
                open_cluster(connection)
        else:
            assert open_cluster(connection).rest._headers["Authorization"] == f"Bearer {token}"


@pytest.mark.parametrize(
    "extra", [{}, {"kube_config": "a: [b"}, {"kube_config": "{}"}, {"kube_config_path": "/none"}, {"in_cluster": True}]
)
def test_what_does_not_say_how_is_told(extra):
    with pytest.raises(EngineError, match="the connection k8s does not say how to reach Kubernetes"):
        open_cluster(Connection("k8s", extra=extra))
