"""A plan that a person approves: the task that asks, what it shows, and the one that carries that very plan out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.providers.standard.operators.python import BranchPythonOperator

from airflow_provider_ckpt.dags.engine_steps import proven_or_said
from airflow_provider_ckpt.dags.steps import APPROVAL_TIMEOUT
from airflow_provider_ckpt.dags.subject import Subject

_TEXT = """
{% set plan = ti.xcom_pull(task_ids='PLAN') %}
{% if not plan['accept_sink'] %}
Sink effect: **exact**. Nothing is lost, and nothing comes twice.
{% else %}
Sink effect: **{{ plan['accept_sink'] | join(', ') }}**. To approve is to accept that.
{% for sink in plan['sink_effects'] if sink.get('option') %}

First consider the remedy for {{ sink['sink'] }}: reject this, and run it again with `{{ sink['option'] }}`.
{% endfor %}
{% endif %}

ABOUT

{% for note in plan['notes'] %}
* {{ note }}
{% endfor %}
{% for sink in plan['sink_effects'] %}
* Sink {{ sink['sink'] }}: **{{ sink['effect'] }}**SAID. {{ sink['remedy'] or '' }}
{% endfor %}
{% for warning in plan['warnings'] %}
* {{ warning }}
{% endfor %}

**Approve only when the query is stopped.**
"""
_COST = "{% if sink.get('cost') %} ({{ sink['cost'] }}){% endif %}"


def text_of(plan_task: str, about: str, subject: Subject) -> str:
    """What a person is shown of the plan of a task, with a paragraph of the change; ``plan`` is the plan there."""
    return (
        _TEXT.replace("SAID", _COST).replace("PLAN", plan_task).replace("ABOUT", about.replace("QUERY", subject.name))
    )


def preview_of(kind: str, goal: Iterable[str]) -> str:
    """The link to the preview of the plan of the params, relative to Airflow's own URL, which may have a path.

    Args:
        kind: As the page of the checkpoint names the change.
        goal: The params that say which plan it is.
    """
    return f"""
[Show every step](plugin/checkpoints?kind={kind}
{{%- if params.query %}}&query={{{{ params.query | urlencode }}}}
{{%- else %}}&at={{{{ params.checkpoint | urlencode }}}}{{% endif %}}
{{%- for name in {list(goal)!r} if params[name] is integer or params[name] -%}}
&{{{{ name }}}}={{{{ (params[name] if params[name] is string else params[name] | tojson) | urlencode }}}}
{{%- endfor %}})
"""


@dataclass(frozen=True)
class Approved:
    """Tasks of a plan that a person approves.

    Attributes:
        ask: Asks nobody when the plan has no steps; None when a person is always asked.
        approve: The person.
        done: Carries the plan out.
    """

    ask: Any
    approve: Any
    done: Any


def approve(subject: Subject, question: str, text: str, asks: Mapping[str, Any] | None = None) -> Any:
    """The task that asks a person, ``QUERY`` of whose question is the query, and shows a text.

    To approve is to accept the effect on the sink that is shown; and, where no engine is declared, to say that the
    query is stopped, as files cannot tell an idle query from a stopped one.
    """
    return ApprovalOperator(
        **{
            "task_id": "approve",
            "subject": f"{question.replace('QUERY', subject.name)}?",
            "body": text,
            "response_timeout": APPROVAL_TIMEOUT,
            **(asks or {}),
        }
    )


def approved_by(task_id: str) -> str:
    """The template of who has answered a task; nobody's when it was marked as a success."""
    return f"{{{{ ((ti.xcom_pull(task_ids='{task_id}') or {{}}).get('responded_by_user') or {{}}).get('name') }}}}"


def approved_at(task_id: str) -> str:
    """The template of when that was."""
    return f"{{{{ (ti.xcom_pull(task_ids='{task_id}') or {{}}).get('responded_at') }}}}"


def carry_out(operator: Any, task_id: str, subject: Subject, plan: Any, approve: Any, **task: Any) -> Any:
    """The task that carries out the plan of ``plan`` when ``approve`` was answered: that very plan, and no other."""
    return operator(
        task_id=task_id,
        plan=plan.output["plan"],
        accept_sink=f"{{{{ ti.xcom_pull(task_ids='{plan.task_id}')['accept_sink'] }}}}",
        approved_by=approved_by(approve.task_id),
        approved_at=approved_at(approve.task_id),
        query_is_stopped=proven_or_said,
        **subject.arguments,
        **task,
    )


def ask_and_carry_out(
    operator: Any,
    task_id: str,
    subject: Subject,
    plan: Any,
    question: str,
    about: str,
    *,
    preview: str = "",
    asks: Mapping[str, Any] | None = None,
) -> Approved:
    """The tasks after one that has planned: asked, when the plan has steps, approved and carried out.

    Args:
        operator: Of the change.
        task_id: Of the task that carries the plan out.
        subject: The query.
        plan: The task that has planned.
        question: What a person is asked, without the question mark; ``QUERY`` there is the query.
        about: A paragraph of the change, with the same; ``plan`` is the plan in its template.
        preview: The link to the preview.
        asks: Arguments of the task that asks, such as ``assigned_users`` and ``notifiers``.
    """
    approving = approve(subject, question, text_of(plan.task_id, about, subject) + preview, asks)
    done = carry_out(operator, task_id, subject, plan, approving, trigger_rule="none_failed_min_one_success")
    asked = BranchPythonOperator(
        task_id="ask",
        python_callable=choose,
        op_kwargs={"planned": plan.output, "approve": approving.task_id, "done": done.task_id},
    )
    asked >> [approving, done]
    approving >> done
    return Approved(asked, approving, done)


def choose(planned: Mapping[str, Any], approve: str, done: str) -> str:
    """A plan of no steps needs nobody's approval."""
    return approve if planned["actions"] else done
