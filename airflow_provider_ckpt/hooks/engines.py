"""The engine of the query of a task, which Airflow's connections reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import AirflowNotFoundException, BaseHook

from airflow_provider_ckpt.engines.connection import Connection
from airflow_provider_ckpt.errors import EngineError
from airflow_provider_ckpt.hooks.extra import extra_of
from airflow_provider_ckpt.untrusted.secrets import scrub
from airflow_provider_ckpt.visible import visible

if TYPE_CHECKING:
    from airflow_provider_ckpt.engines.engine import Engine
    from airflow_provider_ckpt.hooks.declared_task import DeclaredTask
    from airflow_provider_ckpt.running.find_unit import Unit


def connect(conn_id: str) -> Connection:
    """The connection of Airflow with an id, as engines take it. Raises EngineError where there is none."""
    try:
        found = BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        raise EngineError(
            f"there is no connection {conn_id} in Airflow, by which the engine is reached.",
            hint="Nothing was done. Make it, or correct engine_connection of the query file.",
        ) from None
    return Connection(
        conn_id, found.host, found.port, found.login, found.password, found.schema or None, extra_of(found)
    )


def open_declared(task: DeclaredTask) -> tuple[Unit, Engine]:
    """The application that the query of a task is of, and where it runs.

    Raises EngineError where the query file declares no engine of it.
    """
    from airflow_provider_ckpt.engines.open_engine import open_engine
    from airflow_provider_ckpt.running.find_unit import find_unit

    file, query = task.declared_file, task.declared_query
    if file is None or query is None:
        raise EngineError(
            f"{visible(scrub(str(task.checkpoint)))} is no query of a query file, so nobody can say where it runs.",
            hint="Nothing was done. Give query, a name of a file that says its engine and application.",
        )
    unit = find_unit(file, query.name, task.hook.store, task.declared_deploy)
    return unit, open_engine(unit.declared, unit.name, connect)


def stopped_word(task: DeclaredTask) -> Callable[[], bool] | None:
    """What is asked for the word that the query of a task is stopped; None where no engine is declared of it.

    It raises what ``running.require_stopped`` raises.
    """
    if not task.declares_engine:
        return None

    def ask() -> bool:
        from airflow_provider_ckpt.running.require_stopped import require_stopped

        require_stopped(*open_declared(task))
        return True

    return ask
