"""Who may see what, by Airflow's own rules. Nothing is mounted where one of these imports fails.

``core_api.security`` is not declared public. Its names are the same in Airflow 3.1 to 3.3, and tested on both ends.
"""

from __future__ import annotations

from typing import Annotated, Any

from airflow.api_fastapi.auth.managers.models.resource_details import AccessView, DagAccessEntity
from airflow.api_fastapi.core_api.security import (
    get_user,
    requires_access_dag,
    requires_access_view,
    requires_authenticated,
)
from fastapi import Depends, HTTPException, Request

#: Every route: somebody who is logged in.
require_login = requires_authenticated()
#: Who is logged in.
User = Annotated[Any, Depends(get_user)]
#: The pages: whoever may see Airflow's plugins, as every role from the viewer up.
require_pages = requires_access_view(AccessView.PLUGINS)


def require_task(request: Request, user: User, dag_id: str) -> None:
    """The tab of a task: whoever may see the task instances of its DAG. Raises HTTPException.

    An authorisation manager may allow a DAG that does not exist: the task instance has to be found as well.
    """
    if not dag_id or dag_id == "~":  # both mean every DAG
        raise HTTPException(404)
    requires_access_dag("GET", DagAccessEntity.TASK_INSTANCE, dag_id)(request, user)


def may_start(request: Request, user: Any, dag_id: str) -> bool:
    """True if a user may start runs of a DAG. It only shows the button: Airflow asks again at the start."""
    try:
        requires_access_dag("POST", DagAccessEntity.RUN, dag_id)(request, user)
    except HTTPException:
        return False
    return True
