"""What Airflow loads: where the pages are shown, and that nothing is where their authentication cannot be."""

from __future__ import annotations

import ast
import sys
import tomllib
from pathlib import Path

from airflow.plugins_manager import AirflowPlugin

from airflow_provider_ckpt.plugin import checkpoints
from airflow_provider_ckpt.plugin.checkpoints import CheckpointsPlugin


def test_airflow_finds_it_by_its_entry_point():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["airflow.plugins"] == {
        "ckpt": f"{CheckpointsPlugin.__module__}:{CheckpointsPlugin.__name__}"
    }
    assert any(base.__name__ == AirflowPlugin.__name__ for base in CheckpointsPlugin.__mro__)


def test_the_pages_are_below_browse_and_beside_runs_and_tasks():
    views = CheckpointsPlugin().external_views
    assert {view["destination"] for view in views} == {"nav", "dag_run", "task", "task_instance"}
    (nav,) = (view for view in views if view["destination"] == "nav")
    assert (nav["href"], nav["url_route"], nav["category"]) == ("ckpt/", "checkpoints", "browse")
    assert len({view["url_route"] for view in views}) == len(views)  # Airflow drops a second one of a name
    assert not any(view["href"].startswith("/") for view in views)  # a sub-path stays


def test_what_airflow_drops_of_a_list_stays_dropped():
    """Airflow removes views whose route another plugin has from the list that the plugin gives."""
    assert CheckpointsPlugin().external_views is CheckpointsPlugin().external_views


def test_one_app_is_mounted_once():
    (mounted,) = CheckpointsPlugin().fastapi_apps
    assert mounted["url_prefix"] == "/ckpt"
    assert CheckpointsPlugin().fastapi_apps[0]["app"] is mounted["app"]


def test_without_airflows_authentication_nothing_is_mounted(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "airflow.api_fastapi.core_api.security", None)
    room = checkpoints.__package__
    for name in ("app", "access", "fleet"):
        monkeypatch.delitem(sys.modules, f"{room}.{name}", raising=False)
        monkeypatch.delattr(sys.modules[room], name, raising=False)
    without = checkpoints._app.__wrapped__
    monkeypatch.setattr(checkpoints, "_app", without)
    assert without() is None
    assert CheckpointsPlugin().fastapi_apps == CheckpointsPlugin().external_views == []
    assert "The Checkpoints pages are not mounted: " in caplog.text


def test_a_worker_that_loads_plugins_does_not_make_the_pages():
    """What the module itself imports is the plugin's base class and the links; the app is imported where it is served."""
    imported = ast.parse(Path(checkpoints.__file__).read_text()).body
    ours = {node.module for node in imported if isinstance(node, ast.ImportFrom)}
    assert {name for name in ours if name.startswith("airflow")} == {
        "airflow.providers.common.compat.sdk",
        "airflow_provider_ckpt.hooks.links",
    }
