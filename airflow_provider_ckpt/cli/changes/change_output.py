"""Output of a command about a change: the plan, the steps that were done, and the next command."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from airflow_provider_ckpt.change.plan.actions import Taking
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.journal import Record
from airflow_provider_ckpt.change.record.receipt import Receipt
from airflow_provider_ckpt.cli.changes.plan_files import next_command, remedied_command, seen_command, undo_command
from airflow_provider_ckpt.cli.render import print_json, print_tables, say
from airflow_provider_ckpt.cli.streams import has_done
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.report.table import counted
from airflow_provider_ckpt.report.tables import plan_tables
from airflow_provider_ckpt.sinks.effects import COSTS, Effect
from airflow_provider_ckpt.times import time_text

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.changes import ChangeDocument


def report_change(
    plan: Plan,
    receipt: Receipt | None,
    *,
    done: Record | None = None,
    as_json: bool,
    plan_out: str | None = None,
    more: Mapping[str, object] | None = None,
    is_shown: bool = False,
) -> None:
    """A plan, and what was done of it; the last line is the next command.

    Args:
        plan: The plan that was asked for.
        receipt: Result of now; None when it is only shown.
        done: Its record, where it was carried out before: then nothing is left to do.
        as_json: True if a program reads it.
        plan_out: The file that it was written to.
        more: Further keys of the document.
        is_shown: True if the plan is on stdout already.
    """
    if done is not None:
        has_done("Nothing was done, because the change was carried out already.")
    elif receipt is not None:
        has_done(f"Done: {counted(receipt.actions, 'step')} of the {plan.called} of {plan.location}.")
    elif plan_out:
        has_done(f"The plan is in {plan_out}.")
    if as_json:
        document: ChangeDocument = {
            "format_version": FORMAT_VERSION,
            "sink_effect": plan.sink_effect,
            "accept_sink": list(plan.to_accept),
            "plan": plan.shown(),
            "apply_command": None if receipt or done or not plan.actions else next_command(plan, plan_out),
            "remedy_command": None if receipt or done or not plan.actions else remedied_command(plan),
            "receipt": receipt.to_dict() if receipt else None,
        }
        print_json({**document, **(more or {})})
        return
    if done is not None:
        say(already_done(done), colour="green")
        return
    if not is_shown:
        print_tables(plan_tables(plan))
    if receipt is not None:
        _report_receipt(plan, receipt)
    elif not plan.actions:
        is_so = "the log of the sink lacks no entry"
        if plan.kind != "repair":
            is_so = f"{plan.location} is at batch {plan.batch_id} already"
        say(f"The plan has no steps: {is_so}.", colour="green")
    else:
        _say_next(plan, plan_out)


def _say_next(plan: Plan, plan_out: str | None) -> None:
    """The next command: the one with the remedy first, where an option is the remedy of an effect on a sink."""
    accepting = f" and accept {_accepted(plan.to_accept)}" if plan.to_accept else ""
    written = f"The plan is in {plan_out}. " if plan_out else ""
    if remedied := remedied_command(plan):
        say(f"{written}Nothing was changed. To plan it with the remedy:", colour="yellow")
        click.echo(remedied)
        say(f"Or, to apply this plan{accepting}:", colour="yellow")
    else:
        say(f"{written}Nothing was changed. To apply the plan{accepting}:", colour="yellow")
    click.echo(next_command(plan, plan_out))


def show_plan(plan: Plan, *, as_json: bool) -> bool:
    """Show a plan to somebody at a terminal, on stderr where stdout is for something else; True if on stdout."""
    on_stdout = sys.stdout.isatty() and not as_json
    print_tables(plan_tables(plan), err=not on_stdout)
    return on_stdout


def _accepted(effects: Sequence[Effect]) -> str:
    """What somebody accepts with some effects, as ``that the sink effect is duplicated (rows come twice)``."""
    rows = " and ".join(f"{effect} ({COSTS[effect]})" for effect in effects if effect != "stops")
    stops = f"that the query stops ({COSTS['stops']})" if "stops" in effects else ""
    return " and ".join(filter(None, (f"that the sink effect is {rows}" if rows else "", stops)))


def already_done(done: Record) -> str:
    """Message for a change that was carried out before."""
    by = f" by {done.by}" if done.by else ""
    when = "" if done.done_at_ms is None else f" at {time_text(done.done_at_ms)}"
    further = " To move the source further, give its offsets or another distance." if done.plan.kind == "reset" else ""
    back = f" {_how_to_undo(done.plan)}".rstrip()
    return (
        f"The {done.plan.called} {done.plan.plan_id} of {done.plan.location} was carried out already{by}{when}. "
        f"Nothing was done now.{further}{back}"
    )


def _report_receipt(plan: Plan, receipt: Receipt) -> None:
    if receipt.status == "already_applied":
        say("Nothing was changed, because every step of the plan was done before.", colour="green")
        return
    is_kept = any(isinstance(action, Taking) for action in plan.actions)
    kept = "The removed files are kept" if is_kept else "The record is"
    kept = f" {kept} in {receipt.record}." if receipt.record and plan.rules.can_be_undone else ""
    say(f"Done: {counted(receipt.actions, 'step')}.{kept}", colour="green")
    if told := _how_to_undo(plan):
        say(told)


def _how_to_undo(plan: Plan) -> str:
    """Sentence on how a change is taken back; empty where it cannot be."""
    if plan.undoes:
        return f"To undo it, make the change again, which is shown by: {seen_command(plan)}"
    return f"To undo it: {undo_command(plan)}" if plan.rules.can_be_undone else ""
