"""Common part of the commands that change a checkpoint in place: their options, and carrying a plan out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from shlex import quote
from typing import Any

import click

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores, require_own_place
from airflow_provider_ckpt.change.plan.kinds import Kind
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.find_done import find_applied, receipt_of
from airflow_provider_ckpt.changes.fence.put_first import plan_behind
from airflow_provider_ckpt.cli.changes.change_output import report_change
from airflow_provider_ckpt.cli.changes.plan_files import read_plan, write_plan
from airflow_provider_ckpt.cli.options import (
    Command,
    accepting,
    executing,
    planning,
    shared,
    stopping,
    user_and_host,
)
from airflow_provider_ckpt.cli.render import progress_bar, say
from airflow_provider_ckpt.storage.store import Store


def acting(command: Command) -> Command:
    """Add the options that all commands share which change a checkpoint in place."""
    command = click.option(
        "--break-lock", is_flag=True, help="Remove the lock of another change, which you know has ended."
    )(command)
    return stopping(planning(accepting(executing(shared(command)))))


def planned_behind(
    make: Callable[[bool], Plan],
    stores: Stores,
    *,
    fence: bool,
    wait_s: float,
    trigger: str | None,
    how: Mapping[str, Any],
) -> tuple[Plan, bool]:
    """The plan of a change, behind a fence where one is asked for; and whether it is.

    Raises a usage error for a plan that would be written without the fence that it needs.

    Args:
        make: Makes the plan, behind the fence that is there or without one.
        stores: Where.
        fence: True if a fence is asked for.
        wait_s: Seconds that a fence waits for a batch in flight.
        trigger: The trigger of the query.
        how: The options by which the change is carried out.
    """
    if not fence:
        return make(False), False
    if how["query_is_stopped"]:
        raise click.UsageError("--fence is in place of --i-know-it-is-stopped; give one of them")

    def unfenced() -> None:
        if how["plan_out"]:
            raise click.UsageError(
                "a plan is written behind a fence that is there; put it first: "
                f"ckpt fence {quote(stores.checkpoint.location)} --execute"
            )
        tell_user("With --execute the checkpoint is fenced first, and the plan is made anew behind the fence.")

    return plan_behind(
        make,
        stores,
        acts=how["execute"],
        unfenced=unfenced,
        by=user_and_host(),
        trigger=trigger,
        wait_s=wait_s,
        break_lock=how["break_lock"],
        tell=tell_user,
    )


def tell_user(text: str) -> None:
    """Say on stderr what is being waited for."""
    say(text, err=True)


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
    more: Mapping[str, object] | None = None,
) -> None:
    """Write a plan to a file, or carry it out; and show it, what was done of it, and the command that comes next.

    ``more`` are further keys of the document.
    """
    receipt = None
    done = find_applied(plan, stores)
    if plan_out and done is None:
        write_plan(plan_out, plan, (stores.checkpoint, stores.sink, stores.undo, stores.backups))
    if execute and done is not None:
        receipt = receipt_of(done)
    elif execute:
        with progress_bar(plan.kind) as on_step:
            receipt = apply(
                plan,
                stores.for_plan(plan, opener),
                by=user_and_host(),
                query_is_stopped=query_is_stopped,
                quiet_s=quiet_s,
                break_lock=break_lock,
                on_step=on_step,
                tell=tell_user,
                accept_sink=accept_sink,
                approved_by=approved_by or "",
            )
    report_change(plan, receipt, done=done, as_json=as_json, plan_out=plan_out, more=more)
