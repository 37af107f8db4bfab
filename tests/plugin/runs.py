"""Runs in Airflow's database, as the scheduler and the workers leave them there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from airflow import settings
from airflow.models.base import Base
from sqlalchemy import Table, insert, inspect
from sqlalchemy.orm import Session

NOW = datetime(2026, 11, 23, tzinfo=UTC)
#: What a column without a default gets, by the beginning of its type.
_FILL = {"INTEGER": 0, "BOOLEAN": False, "TIMESTAMP": NOW, "DATETIME": NOW, "UUID": None, "CHAR": None}


def add_run(dag_id: str, run_id: str, tasks: Mapping[tuple[str, int], Mapping[str, Any] | None]) -> None:
    """Add a run with task instances.

    Args:
        dag_id: The DAG.
        run_id: The run.
        tasks: The rendered fields of each task instance, by task and map index; None for one that has none.
    """
    with Session(settings.engine) as session:
        _add(session, "dag_run", dag_id=dag_id, run_id=run_id, run_type="manual", run_after=NOW, state="success")
        for (task_id, map_index), fields in tasks.items():
            key = {"dag_id": dag_id, "run_id": run_id, "task_id": task_id, "map_index": map_index}
            _add(session, "task_instance", **key, state="success", pool="default_pool", pool_slots=1)
            if fields is not None:
                _add(session, "rendered_task_instance_fields", **key, rendered_fields=dict(fields))
        session.commit()


def _add(session: Session, name: str, **values: Any) -> None:
    """A row; columns that must have a value and are not given get an empty one."""
    table: Table = Base.metadata.tables[name]
    for column in table.columns:
        required = not column.nullable and column.default is None and column.server_default is None
        if required and column.name not in values and not (column.primary_key and column.autoincrement is True):
            kind = str(column.type).upper()
            if column.name == "id" and kind.startswith("INTEGER"):
                continue
            values[column.name] = _uuid() if "UUID" in kind or column.name == "id" else _filled(kind)
    assert inspect(settings.engine).has_table(name)
    session.execute(insert(table).values(**values))


def _uuid() -> Any:
    from uuid6 import uuid7

    return uuid7()


def _filled(kind: str) -> Any:
    return next((value for begin, value in _FILL.items() if kind.startswith(begin) and value is not None), "")
