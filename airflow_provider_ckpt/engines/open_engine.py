"""Opening the engine that a query declares; no other engine is imported."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module

from airflow_provider_ckpt.engines.connection import Connection, connection_in
from airflow_provider_ckpt.engines.engine import Engine
from airflow_provider_ckpt.errors import EngineError
from airflow_provider_ckpt.query.engine import DeclaredEngine

#: Gives the connection with an id.
Connect = Callable[[str], Connection]
#: The module and the class of each engine that there is, which is made with what is declared, the name of what it
#: runs, and a Connect.
CLASSES: Mapping[str, tuple[str, str]] = {
    "apache-operator": ("apache_operator", "ApacheOperatorEngine"),
    "command": ("command", "CommandEngine"),
    "kubeflow": ("kubeflow", "KubeflowEngine"),
    "local": ("local", "LocalEngine"),
    "standalone": ("standalone", "StandaloneEngine"),
    "yarn": ("yarn", "YarnEngine"),
}


def from_environment(connection: str) -> Connection:
    """The connection with an id, from the variable that Airflow takes it from. Raises EngineError."""
    return connection_in(os.environ, connection)


def open_engine(declared: DeclaredEngine, name: str, connect: Connect = from_environment) -> Engine:
    """The engine that runs a query.

    Args:
        declared: What the query file says of it.
        name: The query, or the group of queries of one application.
        connect: Gives the connection with an id.

    Raises:
        EngineError: There is no such engine yet, or its connection says nothing.
    """
    if declared.name not in CLASSES:
        raise EngineError(
            f"the engine {declared.name} of {name} is not in this version of ckpt, which has {', '.join(CLASSES)}.",
            hint="Nothing was done. The engine command runs commands of your own for it.",
        )
    module, class_name = CLASSES[declared.name]
    made: Engine = getattr(import_module(f"airflow_provider_ckpt.engines.{module}"), class_name)(
        declared, name, connect
    )
    return made
