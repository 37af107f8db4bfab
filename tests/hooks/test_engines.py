"""The connection of Airflow by which an engine is reached."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from airflow.providers.common.compat.sdk import AirflowNotFoundException, BaseHook

from airflow_provider_ckpt.errors import EngineError
from airflow_provider_ckpt.hooks import engines

pytestmark = pytest.mark.airflow


def test_an_engine_is_reached_by_a_connection_of_airflow(monkeypatch):
    there = SimpleNamespace(
        conn_id="yarn", host="rm", port=8088, login="a", password="b", schema="https", extra='{"k": 1}'
    )
    there.extra_dejson = {"k": 1}
    monkeypatch.setattr(BaseHook, "get_connection", lambda conn_id: there)
    found = engines.connect("yarn")
    assert (found.host, found.port, found.login, found.password, found.schema, found.extra) == (
        *("rm", 8088, "a", "b", "https"),
        {"k": 1},
    )

    def missing(conn_id: str) -> None:
        raise AirflowNotFoundException

    monkeypatch.setattr(BaseHook, "get_connection", missing)
    with pytest.raises(EngineError, match="there is no connection yarn in Airflow"):
        engines.connect("yarn")
