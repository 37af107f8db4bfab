"""TaskGroups and factories of DAGs: the blocks of a deploy, a rollback, a backup and a watch, put together once.

A name is imported when it is asked for, so that a DAG file loads no operators that it has no use for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: The module of each block and factory.
WHERE = {
    "audit_dag": "audit",
    "back_up_queries": "backup",
    "backup_dag": "backup",
    "blue_green_dag": "blue_green",
    "deploy_dag": "deploy",
    "deploy_query": "deploy",
    "fleet_rollback_dag": "fleet_rollback",
    "fleet_undo_dag": "fleet_rollback",
    "index_dag": "index",
    "pre_deploy_gate_dag": "deploy",
    "publish_dag": "publish",
    "repartition_dag": "repartition",
    "reset_dag": "reset",
    "roll_back_query": "rollback",
    "rollback_dag": "rollback",
    "submit": "steps",
    "validation_dag": "validation",
    "watch_dag": "watch",
    "watch_queries": "watch",
    "windows_dag": "windows",
}

__all__ = sorted(WHERE)  # the names of the table


def __getattr__(name: str) -> Any:
    """The block or factory of a name, from its module."""
    if name not in WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{WHERE[name]}"), name)
