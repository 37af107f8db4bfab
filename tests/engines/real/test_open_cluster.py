"""A real API server takes the certificate of a client, and a client no other server."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.engines.connection import Connection
from airflow_provider_ckpt.engines.open_cluster import open_cluster
from airflow_provider_ckpt.errors import EngineError, EngineUnknownError
from tests.engines.real.kubernetes import ApiServer, certificates


def test_a_real_server_takes_the_certificate_of_a_client_and_no_other(tmp_path):
    server = ApiServer(tmp_path / "server")
    try:
        config = server.kubeconfig
        path = ("apis", "apiextensions.k8s.io", "v1", "customresourcedefinitions")
        assert open_cluster(Connection("k8s", extra={"kube_config": config})).rest.ask("GET", *path).status == 200
        config["users"][0]["user"] = {}
        with pytest.raises(EngineError, match="Kubernetes at .* HTTP (401|403|500)"):
            open_cluster(Connection("k8s", extra={"kube_config": config})).rest.ask("GET", *path)
        (tmp_path / "other").mkdir()
        config["clusters"][0]["cluster"]["certificate-authority"] = certificates(tmp_path / "other")["ca.crt"]
        with pytest.raises(EngineUnknownError, match="CERTIFICATE_VERIFY_FAILED"):
            open_cluster(Connection("k8s", extra={"kube_config": config})).rest.ask("GET", *path)
    finally:
        server.close()
