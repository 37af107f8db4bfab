"""What a command shows of a change: the plan, what was done of it, and the command that comes next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from airflow_provider_ckpt.change.actions import Taking
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.change.receipt import Receipt
from airflow_provider_ckpt.cli.plan_files import next_command, undo_command
from airflow_provider_ckpt.cli.render import counted, print_json, print_tables, say
from airflow_provider_ckpt.cli.streams import has_done
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.report.tables import plan_tables

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.changes import ChangeDocument


def report_change(
    plan: Plan,
    receipt: Receipt | None,
    *,
    as_json: bool,
    plan_out: str | None = None,
    more: Mapping[str, object] | None = None,
) -> None:
    """A plan, and what was done of it; the last line is the next command. ``more`` are further keys of the document."""
    if receipt is not None:
        has_done(f"Done: {counted(receipt.actions, 'step')} of the {plan.called} of {plan.location}.")
    elif plan_out:
        has_done(f"The plan is in {plan_out}.")
    if as_json:
        document: ChangeDocument = {
            "format_version": FORMAT_VERSION,
            "sink_effect": plan.sink_effect,
            "accept_sink": list(plan.to_accept),
            "plan": plan.shown(),
            "apply_command": None if receipt or not plan.actions else _next(plan, plan_out),
            "receipt": receipt.to_dict() if receipt else None,
        }
        print_json({**document, **(more or {})})
        return
    print_tables(plan_tables(plan))
    if receipt is not None:
        _report_receipt(plan, receipt)
    elif not plan.actions:
        is_so = "the log of the sink lacks no entry"
        if plan.kind != "repair":
            is_so = f"{plan.location} is at batch {plan.batch_id} already"
        say(f"The plan has no steps: {is_so}.", colour="green")
    else:
        accepting = f" and accept that the sink effect is {' and '.join(plan.to_accept)}" if plan.to_accept else ""
        written = f"The plan is in {plan_out}. " if plan_out else ""
        say(f"{written}Nothing was changed. To apply the plan{accepting}:", colour="yellow")
        click.echo(_next(plan, plan_out))


def _next(plan: Plan, plan_out: str | None) -> str:
    """The command that applies the plan."""
    said = click.get_current_context().obj or ()
    return next_command([word for word in said if word != "--json"], plan, plan_out)


def _report_receipt(plan: Plan, receipt: Receipt) -> None:
    if receipt.status == "already_applied":
        say("Nothing was changed, because every step of the plan was done before.", colour="green")
        return
    is_kept = any(isinstance(action, Taking) for action in plan.actions)
    kept = "The removed files are kept" if is_kept else "The record is"
    kept = f" {kept} in {receipt.record}." if receipt.record and plan.rules.can_be_undone else ""
    say(f"Done: {counted(receipt.actions, 'step')}.{kept}", colour="green")
    if plan.rules.can_be_undone:
        say(f"To undo it: {undo_command(click.get_current_context().obj or (), plan)}")
