"""An application is kept in the record of its start, and comes back from it the same."""

from __future__ import annotations

import json

from airflow_provider_ckpt.engines.engine import Application


def test_an_application_comes_back_from_json():
    application = Application("kubeflow", {"manifest": "a.yaml", "args": ("a", "b")}, {"manifest": "kind: X\n"})
    assert Application.from_dict(json.loads(json.dumps(application.to_dict()))) == application
