"""Asking at a terminal whether the query is stopped: whoever types its name gives the word that a change needs.

Nobody is asked without a terminal, in CI or in a task of Airflow: there the option says it.
"""

from __future__ import annotations

import os
import sys

import click

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.acceptance import require_accepted
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.journal import may_have_taken_steps
from airflow_provider_ckpt.cli.query_names import name_of
from airflow_provider_ckpt.visible import visible

#: What is set where a program has started the command, which may have given it a terminal all the same.
_OF_PROGRAMS = ("CI", "AIRFLOW_CTX_DAG_ID")


def can_ask() -> bool:
    """True if somebody is there who reads a question and can answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty() and not any(map(os.environ.get, _OF_PROGRAMS))


def require_worth_asking(plan: Plan, stores: Stores, accept_sink: tuple[str, ...]) -> None:
    """Raise PlanError for a plan that is refused whatever the answer is: its effect on the sink is not accepted."""
    files, _ = stores.record(plan.plan_id).ls()
    if not may_have_taken_steps(files):  # what was accepted when it was begun is in its record
        require_accepted(plan, accept_sink)


def ask_stopped(location: str) -> bool:
    """True if somebody types the name of the query. Ctrl-C and all else is no.

    A query that no file names is called by the last part of its location.
    """
    name = name_of(click.get_current_context()) or location.rstrip("/").rpartition("/")[2]
    question = f"Is the query {name} stopped? Its files cannot say so. Type its name to carry the plan out:"
    try:
        click.echo(f"{visible(question)} ", nl=False, err=True)
        word = sys.stdin.readline().strip()
    except (KeyboardInterrupt, UnicodeDecodeError):
        word = ""
    if not word:
        click.echo(err=True)  # the cursor is behind the question still
    return word == name
