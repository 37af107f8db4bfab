"""Steps of the user: what stops a query, and what starts it.

One that is not given is taken by the engine of the query; where the query file declares none, a person is asked.

A step is one of:

* a function, which a task calls: with ``query``, its name, and ``checkpoint``, and what of Airflow's context its
  parameters name. The checkpoint is None for a query of which a block knows nothing but the name.
  Take the query from there: a function that is written in a loop knows the last query of the loop alone;
* a function with ``@task``, which is called in the same way;
* ``functools.partial`` of an operator, such as ``partial(SparkSubmitOperator, application="orders.py")``, or
  :func:`submit`: made into a task as often as the block needs it;
* a task that is there already, where a block needs the step once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from airflow.providers.common.compat.sdk import AirflowFailException, BaseOperator
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk.exceptions import AirflowRescheduleException

from airflow_provider_ckpt.dags.subject import OF_PARAMS, Subject
from airflow_provider_ckpt.sensors.checkpoint import CheckpointProgressSensor

#: How long a person may take to the answer, and a query that was started to its first commit.
APPROVAL_TIMEOUT = timedelta(days=1)
PROGRESS_TIMEOUT = timedelta(minutes=30)
#: How often a wait looks at the checkpoint, and before that whether the start has begun.
POLL = timedelta(seconds=15)


class SubmitWithoutSparkOperator(BaseOperator):
    """In place of ``SparkSubmitOperator`` where Spark's provider is not installed: fails, and says what to install.

    :param application: What would have been submitted.
    """

    template_fields = ("application",)

    def __init__(self, *, application: str, **kwargs: Any) -> None:
        kept = {key: value for key, value in kwargs.items() if key not in ("application_args", "conf", "conn_id")}
        super().__init__(**kept)
        self.application = application

    def execute(self, context: Any) -> None:
        """Refuse."""
        raise AirflowFailException(
            f"{self.application} cannot be submitted: apache-airflow-providers-apache-spark is not installed here. "
            "Install it where DAGs are parsed and tasks run, or give the block another start."
        )


def submit(application: str, **arguments: Any) -> partial[Any]:
    """The step that submits an application with ``SparkSubmitOperator``."""
    return partial(_submit_operator(), application=application, **arguments)


def _submit_operator() -> Any:
    try:
        from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
    except ImportError:
        return SubmitWithoutSparkOperator
    return SparkSubmitOperator


#: The application of the params of a DAG run.
SUBMIT_PARAMS = {
    "application": "{{ params.application }}",
    "application_args": "{{ params.application_args }}",
    "conf": "{{ params.confs }}",
}


def task_of_step(
    step: Any, task_id: str, subject: Subject, asked: str, by_engine: Mapping[str, Any] | None = None, **task: Any
) -> Any:
    """The task of a step.

    Args:
        step: What the user has given; None leaves it to the engine of the query, or to a person where none is declared.
        task_id: The id of its task.
        subject: The query.
        asked: What a person is asked to do, for None.
        by_engine: The operator that the engine of the query acts by, as ``operator``, and its arguments.
        **task: Arguments of the task, such as ``trigger_rule``.

    Raises:
        TypeError: It is no step, or a task that is there already has to obey a trigger rule.
    """
    given = {"query": subject.name, "checkpoint": subject.checkpoint}
    if step is None and by_engine is not None and subject.may_have_engine:
        own = {key: value for key, value in by_engine.items() if key != "operator"}
        return by_engine["operator"](**person_asked(task_id, subject, asked, **task), **own, **subject.arguments)
    if step is None:
        return person(task_id, subject, asked, **task)
    if isinstance(step, partial) and isinstance(made := step.func, type) and issubclass(made, BaseOperator):
        return step(task_id=task_id, **task)
    if isinstance(made := getattr(step, "operator", step), BaseOperator):
        if task:
            raise TypeError(
                f"the block needs a task {task_id} of its own: give functools.partial({type(made).__name__}, …) or a "
                f"function, not the task {made.task_id}"
            )
        return made
    if callable(getattr(step, "override", None)):
        known = inspect.signature(step.function).parameters
        return step.override(task_id=task_id, **task)(**{key: given[key] for key in given if key in known}).operator
    if callable(step):
        return PythonOperator(task_id=task_id, python_callable=step, op_kwargs=given, **task)
    raise TypeError(f"{task_id} must be a function, a task, or functools.partial of an operator, not {step!r:.60}")


def person(task_id: str, subject: Subject, asked: str, **task: Any) -> ApprovalOperator:
    """The task that asks a person for a step; a rejected one has failed."""
    return ApprovalOperator(**person_asked(task_id, subject, asked, **task))


def person_asked(task_id: str, subject: Subject, asked: str, **task: Any) -> dict[str, Any]:
    """Arguments of the task that asks a person for a step."""
    return {
        "task_id": task_id,
        "subject": f"{subject.name}: {asked}",
        "body": f"**{asked}**\n\nApprove when it is done. The query is `{subject.checkpoint or subject.name}`.",
        "response_timeout": APPROVAL_TIMEOUT,
        "fail_on_reject": True,
        **task,
    }


def wait_beside(start: Any, subject: Subject, after: str = "0", **task: Any) -> CheckpointProgressSensor:
    """The wait for the first commit of a query that a task starts: it runs beside that task, and fails with it.

    Args:
        start: The task, which may follow the query for as long as that runs.
        subject: The query.
        after: Template of the last batch before, where no ``batch_id`` is given.
        **task: Other arguments of the sensor.
    """
    return CheckpointProgressSensor(
        **{
            "task_id": "wait",
            "batch_id": f"{{{{ {after} + 1 }}}}",
            "fails_with": start.task_id,
            "deferrable": False,
            "mode": "reschedule",
            "poke_interval": POLL,
            "timeout": PROGRESS_TIMEOUT,
            **subject.arguments,
            **task,
        }
    )


def wait_after(plan: Any, start: Any, subject: Subject) -> CheckpointProgressSensor:
    """The wait for the first commit after a change, whose plan says with which batch it ends."""
    return wait_beside(start, subject, f"ti.xcom_pull(task_ids='{plan.task_id}')['batch_id']")


def restart_of_params(plan: Any) -> list[Any]:
    """After a change: the task that submits the application of the params, and the wait beside it."""
    restart = submit(**SUBMIT_PARAMS)(task_id="restart")
    return [restart, wait_after(plan, restart, OF_PARAMS)]


def state_of(task_id: str, ti: Any) -> str | None:
    """The state of another task of this run; None before it is scheduled."""
    states = ti.get_task_states(dag_id=ti.dag_id, task_ids=[task_id], run_ids=[ti.run_id])
    found: Mapping[str, str | None] = states.get(ti.run_id, {})
    return found.get(task_id)


def require_begun(task_id: str) -> Callable[[Any], None]:
    """What lets a task run while another runs or after it has succeeded.

    Before that it comes again, afterwards it fails. It is in place of an edge from a task whose end may be the query's.
    """

    def require(context: Any) -> None:
        state = state_of(task_id, context["ti"])
        if state in ("failed", "upstream_failed", "skipped", "removed"):
            raise AirflowFailException(f"The task {task_id} is {state}: its log says why.")
        if state not in ("running", "deferred", "success"):
            raise AirflowRescheduleException(datetime.now(UTC) + POLL)

    return require
