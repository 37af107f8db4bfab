"""A job that real Spark runs for the DAGs of the project, and a person who approves what they propose."""

from __future__ import annotations

from tests.airflow.conftest import HERE

JOB = HERE / "jobs" / "rate_job.py"
CONFS = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # a short life needs no more
}
#: A person who waits to be asked and approves, through the route behind the button of the user interface.
PERSON = """
import time
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from airflow.api_fastapi.core_api.datamodels.hitl import UpdateHITLDetailPayload
from airflow.api_fastapi.core_api.routes.public.hitl import update_hitl_detail
from airflow.models.hitl import HITLDetail
from airflow.utils.session import create_session
from sqlalchemy import select

deadline, task = time.monotonic() + 800, None
while task is None or task.state not in ("awaiting_input", "deferred"):  # the latter before Airflow 3.3
    assert time.monotonic() < deadline, "nobody was asked"
    time.sleep(1)
    with create_session() as session:
        asked = session.scalar(select(HITLDetail).order_by(HITLDetail.created_at.desc()))
        task = asked and asked.task_instance
with create_session() as session:
    answer = UpdateHITLDetailPayload(chosen_options=["Approve"], params_input={})
    user = SimpleAuthManagerUser(username="admin", role="admin")
    update_hitl_detail(task.dag_id, task.run_id, task.task_id, answer, user, session)
print(asked.subject, asked.body)
"""
