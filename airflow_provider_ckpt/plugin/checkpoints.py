"""Plugin that Airflow loads by the entry point ``airflow.plugins``. The pages are made only where they are served."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

from airflow.providers.common.compat.sdk import AirflowPlugin, conf

from airflow_provider_ckpt.hooks.links import MOUNT, ROUTE

log = logging.getLogger(__name__)

_TASK = "dag_id={DAG_ID}&run_id={RUN_ID}&task_id={TASK_ID}&map_index={MAP_INDEX}"
_RUN = "dag_id={DAG_ID}&run_id={RUN_ID}"
_OF_DAG = "dag_id={DAG_ID}&task_id={TASK_ID}"


@cache
def _app() -> Any | None:
    """The app; None, which is logged, where Airflow has not what its authentication needs."""
    try:
        from airflow_provider_ckpt.plugin.app import build_app
    except ImportError as error:
        log.warning("The Checkpoints pages are not mounted: %s.", error)
        return None
    return build_app()


class CheckpointsPlugin(AirflowPlugin):
    """Browse > Checkpoints, and a tab named Checkpoint on runs, tasks and task instances."""

    name = "ckpt"

    @property
    def fastapi_apps(self) -> list[dict[str, Any]]:
        """The app; Airflow asks for it in its API server alone."""
        app = _app()
        return [] if app is None else [{"app": app, "url_prefix": MOUNT, "name": "Checkpoints"}]

    @property
    def listeners(self) -> list[Any]:
        """What explains failed tasks, where the configuration wants it."""
        try:
            if not conf.getboolean("ckpt", "explain_failures", fallback=False):
                return []
        except Exception as error:  # of Airflow's configuration, whose place differs between its versions
            log.warning("No failed task is explained: %s", error)
            return []
        from airflow_provider_ckpt.plugin import explain_failures

        return [explain_failures]

    @property
    def external_views(self) -> list[dict[str, Any]]:
        """Where the pages are shown; nowhere when there is no app."""
        return [] if _app() is None else _VIEWS


def _view(name: str, destination: str, route: str, href: str, **more: str) -> dict[str, Any]:
    return {"name": name, "destination": destination, "url_route": route, "href": f"{MOUNT[1:]}/{href}", **more}


_VIEWS = [
    _view("Checkpoints", "nav", ROUTE, "", category="browse"),
    _view("Checkpoint", "task_instance", "checkpoint-of-try", f"task?{_TASK}"),
    _view("Checkpoint", "task", "checkpoint-of-task", f"task?{_OF_DAG}"),
    _view("Checkpoint", "dag_run", "checkpoint-of-run", f"run?{_RUN}"),
]
