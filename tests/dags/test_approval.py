"""The text of an approval, and the task that carries an approved plan out."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from jinja2 import Environment

from airflow_provider_ckpt.dags.approval import ask_and_carry_out, choose, preview_of, text_of
from airflow_provider_ckpt.dags.engine_steps import proven_or_said
from airflow_provider_ckpt.dags.subject import OF_PARAMS, QueryGroup, subject_of
from airflow_provider_ckpt.operators.checkpoint import CheckpointRollbackOperator

pytestmark = pytest.mark.airflow

PLAN = {
    "plan_id": "p1",
    "accept_sink": ["duplicated"],
    "notes": ["A note."],
    "sink_effects": [
        {"sink": "kafka", "effect": "duplicated", "cost": "rows come twice", "remedy": None, "option": None}
    ],
    "warnings": ["A warning."],
}


def shown(plan: dict) -> str:
    """What a person reads of a plan."""
    ti = SimpleNamespace(xcom_pull=lambda task_ids: {"block.plan": plan}[task_ids])
    return (
        Environment(autoescape=False)
        .from_string(text_of("block.plan", "It is {{ plan['plan_id'] }}.", OF_PARAMS))
        .render(ti=ti)
    )


def test_a_person_reads_the_effect_the_notes_and_the_warnings():
    text = shown(PLAN)
    for part in (
        "**duplicated**. To approve is",
        "It is p1.",
        "* A note.",
        "* Sink kafka: **duplicated** (rows come twice). ",
        "* A warn",
    ):
        assert part in text
    assert "Sink effect: **exact**" in shown({**PLAN, "accept_sink": []})


def test_the_remedy_that_an_argument_is_comes_before_what_is_accepted():
    effect = {
        "sink": "file:/out",
        "effect": "skipped",
        "cost": "rows are lost",
        "remedy": "Trim.",
        "option": "trim_sink_log",
    }
    text = " ".join(shown({**PLAN, "accept_sink": ["skipped"], "sink_effects": [effect]}).split())
    assert "First consider the remedy for file:/out: reject this, and run it again with `trim_sink_log`." in text


def test_the_link_has_the_params_that_are_given():
    text = Environment(autoescape=False).from_string(preview_of("rollback", ["to_batch", "sink", "sources"]))
    params = {"checkpoint": "/a b", "to_batch": 0, "sink": None, "sources": {"0": "kafka"}}
    named = text.render(params={**params, "query": "shop.orders", "checkpoint": None})
    assert "?kind=rollback&query=shop.orders&to_batch=0" in named
    link = text.render(params=params).strip()
    assert link.endswith("?kind=rollback&at=/a%20b&to_batch=0&sources=%7B%220%22%3A%20%22kafka%22%7D)")


@pytest.mark.parametrize("native", [True, False])
def test_in_a_group_the_ids_of_the_tasks_are_whole_in_each_template(native):
    subject = subject_of("/orders")
    with DAG("grouped", render_template_as_native_obj=native), QueryGroup(group_id="block"):
        plan = CheckpointRollbackOperator(task_id="plan", plan_only=True, to_batch=1, **subject.arguments)
        asked = ask_and_carry_out(CheckpointRollbackOperator, "rollback", subject, plan, "Roll back QUERY", "")
    assert (asked.ask.task_id, asked.approve.task_id, asked.done.task_id) == (
        *("block.ask", "block.approve", "block.rollback"),
    )
    left = {
        "block.plan": {"accept_sink": ["duplicated", "unknown"]},
        "block.approve": {"responded_by_user": {"name": "admin"}, "responded_at": "2026-11-27T12:00:00Z"},
    }
    ti = SimpleNamespace(xcom_pull=lambda task_ids: left[task_ids])
    task = asked.done
    rendered = {
        name: task.render_template(getattr(task, name), {"ti": ti})
        for name in ("accept_sink", "approved_by", "approved_at")
    }
    wanted = ["duplicated", "unknown"]
    assert rendered == {
        "accept_sink": wanted if native else str(wanted),
        "approved_by": "admin",
        "approved_at": "2026-11-27T12:00:00Z",
    }
    assert task.query_is_stopped is proven_or_said and task.trigger_rule == "none_failed_min_one_success"
    assert asked.approve.subject == "Roll back /orders?"


@pytest.mark.parametrize(("actions", "way"), [(3, "block.approve"), (0, "block.rollback")])
def test_a_plan_of_no_steps_asks_nobody(actions, way):
    assert choose({"actions": actions}, "block.approve", "block.rollback") == way


def test_what_a_person_is_asked_with_is_of_the_user():
    subject = subject_of("/orders")
    with DAG("asked"):
        plan = EmptyOperator(task_id="plan")
        asked = ask_and_carry_out(
            CheckpointRollbackOperator, "rollback", subject, plan, "Roll back QUERY", "", asks={"subject": "Mine?"}
        )
    assert asked.approve.subject == "Mine?"
