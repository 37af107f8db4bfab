"""A manifest is read as Kubernetes reads it."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.engines.manifest import load_yaml, parse_manifest
from airflow_provider_ckpt.errors import EngineError

VERSION = "sparkoperator.k8s.io/v1beta2"
TEXT = f"""
apiVersion: {VERSION}
kind: SparkApplication
metadata: {{name: orders, labels: {{team: shop}}}}
spec:
  driver: &pod {{cores: 1, env: [{{name: DAY, value: 2026-01-01}}]}}
  executor: *pod
  volumes: [{{name: a, secret: {{defaultMode: 0644}}}}]
"""


def test_anchors_octal_numbers_and_dates_are_as_for_kubernetes():
    manifest = parse_manifest(TEXT, "orders", VERSION)
    assert (manifest.name, manifest.namespace, manifest.labels, manifest.annotations) == (
        "orders",
        None,
        {"team": "shop"},
        {},
    )
    assert manifest.spec["executor"] == {"cores": 1, "env": [{"name": "DAY", "value": "2026-01-01"}]}
    assert manifest.spec["volumes"][0]["secret"]["defaultMode"] == 0o644


@pytest.mark.parametrize("text", ["a: [b", "---\na: 1\n---\nb: 2\n", "a: !!python/none x", "[" * 5000])
def test_what_is_not_one_document_is_told(text):
    with pytest.raises(ValueError, match="YAML"):
        load_yaml(text)
    with pytest.raises(EngineError, match="the manifest of orders cannot be read"):
        parse_manifest(text, "orders", VERSION)
