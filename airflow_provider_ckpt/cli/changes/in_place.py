"""Common part of the commands that change a checkpoint in place: their options, and carrying a plan out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from shlex import quote

import click

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.ask_word import Word
from airflow_provider_ckpt.change.make_plan import Planner
from airflow_provider_ckpt.change.option import FieldError, fields_of
from airflow_provider_ckpt.change.places import Stores, require_own_place
from airflow_provider_ckpt.change.plan.fenced import idle_query_warning
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.find_done import find_applied, receipt_of
from airflow_provider_ckpt.changes.fence.put_first import plan_behind
from airflow_provider_ckpt.checkpoint.find_flows import refuse_replaced
from airflow_provider_ckpt.cli.changes.ask_stopped import ask_stopped, can_ask, require_worth_asking
from airflow_provider_ckpt.cli.changes.change_output import report_change, show_plan
from airflow_provider_ckpt.cli.changes.plan_files import read_plan, write_plan
from airflow_provider_ckpt.cli.options import (
    Command,
    accepting,
    breaking_lock,
    executing,
    planning,
    shared,
    stopping,
    user_and_host,
)
from airflow_provider_ckpt.cli.query_names import META, Named, require_declared, tell_origins, with_declarations
from airflow_provider_ckpt.cli.render import progress_bar, say
from airflow_provider_ckpt.errors import EngineError
from airflow_provider_ckpt.fleet.find_readers import plan_with_readers
from airflow_provider_ckpt.storage.store import Store


def acting(command: Command) -> Command:
    """Add the options that all commands share which change a checkpoint in place."""
    return stopping(planning(accepting(executing(shared(breaking_lock(command))))))


def tell_user(text: str) -> None:
    """Say on stderr what is being waited for."""
    say(text, err=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How a change is carried out, by the options that all commands share: see :func:`acting`.

    Args:
        execute: Carry it out; else it is planned alone.
        query_is_stopped: The user's word for that.
        quiet_s: Seconds without a write before anything changes; None for those that follow from its commits.
        break_lock: Remove the lock of another change.
        accept_sink: Sink effects that are accepted.
        plan_out: File that the plan is written to.
        approved_by: Who has approved the plan.
        as_json: Print a JSON document.
    """

    execute: bool
    query_is_stopped: bool
    quiet_s: float | None
    break_lock: bool
    accept_sink: tuple[str, ...]
    plan_out: str | None
    approved_by: str | None
    as_json: bool


@dataclass(frozen=True, slots=True)
class Change:
    """A change in place that somebody asks for: of what, and how it is carried out.

    Args:
        location: The checkpoint.
        opener: Opens further locations with the options of the command line.
        undo_root: Where what goes is kept; None for beside the checkpoint.
        how: The options by which it is carried out.
    """

    location: str
    opener: Callable[[str], Store]
    undo_root: str | None
    how: How

    def stores(self, asked: Planner) -> Stores:
        """Where. Raises a usage error for a request that makes no sense."""
        try:
            asked.require_sense()
            return Stores.of(self.location, self.opener, undo=self.undo_root, **asked.places)
        except FieldError as error:
            option = fields_of(type(asked))[error.field].opt.option
            raise click.BadParameter(str(error), param_hint=option) from None
        except ValueError as error:
            raise click.UsageError(str(error)) from None

    def make(self, asked: Planner) -> None:
        """Plan what is asked for; and write the plan to a file, show it, or carry it out."""
        stores = self.stores(asked)
        self.carry_out_new(self._planned(asked, stores), stores)

    def read(self, path: str, asked: Planner, more: Mapping[str, object] | None) -> None:
        """The same with the plan of a file, which has to be one for this checkpoint."""
        stores = Stores.of(self.location, self.opener, undo=self.undo_root, **asked.places)
        plan = read_plan(path, asked.kind)
        require_own_place(plan, stores)
        refuse_replaced(stores.checkpoint)  # no name means such a version, which says more than that
        require_declared(plan)
        self.carry_out(plan, stores, more)

    def _planned(self, asked: Planner, stores: Stores) -> Plan:
        """The plan, behind a fence where one is asked for, with who has read what it drops.

        Raises a usage error for a plan that would be written without the fence that it needs.
        """

        def made(fenced: bool) -> Plan:
            return plan_with_readers(asked, stores, self.opener, fenced=fenced)

        if not asked.fence:
            return made(False)
        if self.how.query_is_stopped:
            raise click.UsageError("--fence is in place of --i-know-it-is-stopped; give one of them")

        def unfenced() -> None:
            if self.how.plan_out:
                raise click.UsageError(
                    "a plan is written behind a fence that is there; put it first: "
                    f"ckpt fence {quote(stores.checkpoint.location)} --execute"
                )
            tell_user("With --execute the checkpoint is fenced first, and the plan is made anew behind the fence.")

        plan, fenced = plan_behind(
            made,
            stores,
            acts=self.how.execute,
            unfenced=unfenced,
            by=user_and_host(),
            trigger=asked.trigger,
            wait_s=asked.wait_for_batch,
            break_lock=self.how.break_lock,
            tell=tell_user,
        )
        if asked.removes_fence and not fenced and plan.actions and not self.how.execute:
            plan = replace(plan, warnings=(*plan.warnings, idle_query_warning(plan.location)))
        return plan

    def _engine_word(self, said: bool) -> Word:
        """The receipt of a stop, where the query file says where the query runs; else what was said.

        What was said does not count against a run that the engine shows.
        """
        named: Named | None = click.get_current_context().meta.get(META)
        if named is None or named.query.engine is None:
            return said
        from airflow_provider_ckpt.engines.open_engine import open_engine  # what no other query needs
        from airflow_provider_ckpt.running.find_unit import find_unit
        from airflow_provider_ckpt.running.require_stopped import said_word, stopped_word

        try:
            unit = find_unit(named.file, named.query.name, self.opener)
            engine = open_engine(unit.declared, unit.name)
        except EngineError:
            if said:
                return True
            raise
        return (said_word if said else stopped_word)(unit, engine)

    def carry_out_new(self, plan: Plan, stores: Stores, more: Mapping[str, object] | None = None) -> None:
        """The same with a plan that was made now, which gets what the query file declares unless it is done already."""
        done = find_applied(plan, stores)
        self.carry_out(plan if done is not None else with_declarations(plan), stores, more)

    def carry_out(self, plan: Plan, stores: Stores, more: Mapping[str, object] | None = None) -> None:
        """Write a plan to a file, or carry it out; and show it, what was done, and the command that comes next.

        ``more`` are further keys of the document.
        """
        how, receipt, done = self.how, None, find_applied(plan, stores)
        is_stopped: Word = how.query_is_stopped
        is_shown = False
        if origins := tell_origins():
            more = {**(more or {}), "declared": origins}
        if how.plan_out and done is None:
            write_plan(how.plan_out, plan, (stores.checkpoint, stores.sink, stores.undo, stores.backups))
        if how.execute and done is not None:
            receipt = receipt_of(done)
        elif how.execute:
            if plan.fence is None:
                is_stopped = self._engine_word(how.query_is_stopped)
            if not is_stopped and plan.actions and plan.needs_stopped_query and plan.fence is None and can_ask():
                require_worth_asking(plan, stores, how.accept_sink)
                is_shown = show_plan(plan, as_json=how.as_json)
                is_stopped = ask_stopped(plan.location)
            with progress_bar(plan.kind) as on_step:
                receipt = apply(
                    plan,
                    stores.for_plan(plan, self.opener),
                    by=user_and_host(),
                    query_is_stopped=is_stopped,
                    quiet_s=how.quiet_s,
                    break_lock=how.break_lock,
                    on_step=on_step,
                    tell=tell_user,
                    accept_sink=how.accept_sink,
                    approved_by=how.approved_by or "",
                )
        report_change(
            plan, receipt, done=done, as_json=how.as_json, plan_out=how.plan_out, more=more, is_shown=is_shown
        )
