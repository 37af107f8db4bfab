"""What the commands have in common that change a checkpoint in place: their options, and carrying a plan out."""

from __future__ import annotations

from collections.abc import Callable

import click

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.kinds import Kind
from airflow_provider_ckpt.change.places import Stores, require_own_place
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.cli.change_output import report_change
from airflow_provider_ckpt.cli.options import (
    Command,
    accepting,
    executing,
    planning,
    shared,
    stopping,
    user_and_host,
)
from airflow_provider_ckpt.cli.plan_files import read_plan, write_plan
from airflow_provider_ckpt.cli.render import progress_bar, say
from airflow_provider_ckpt.storage.store import Store


def acting(command: Command) -> Command:
    """What the commands that change a checkpoint in place have in common."""
    command = click.option(
        "--break-lock", is_flag=True, help="Remove the lock of another change, which you know has ended."
    )(command)
    return stopping(planning(accepting(executing(shared(command)))))


def read_own(path: str, kind: Kind, stores: Stores) -> tuple[Plan, Stores]:
    """The plan of a file, which has to be one for this checkpoint."""
    plan = read_plan(path, kind)
    require_own_place(plan, stores)
    return plan, stores


def carry_out(
    plan: Plan,
    stores: Stores,
    opener: Callable[[str], Store],
    *,
    execute: bool,
    query_is_stopped: bool,
    quiet_s: float | None,
    break_lock: bool,
    accept_sink: tuple[str, ...],
    plan_out: str | None,
    approved_by: str | None,
    as_json: bool,
) -> None:
    """Write a plan to a file, or carry it out; and show it, what was done of it, and the command that comes next."""
    receipt = None
    if plan_out:
        write_plan(plan_out, plan, (stores.checkpoint, stores.sink, stores.undo, stores.backups))
    if execute:
        with progress_bar(plan.kind) as on_step:
            receipt = apply(
                plan,
                stores.for_plan(plan, opener),
                by=user_and_host(),
                query_is_stopped=query_is_stopped,
                quiet_s=quiet_s,
                break_lock=break_lock,
                on_step=on_step,
                tell=lambda text: say(text, err=True),
                accept_sink=accept_sink,
                approved_by=approved_by or "",
            )
    report_change(plan, receipt, as_json=as_json, plan_out=plan_out)
