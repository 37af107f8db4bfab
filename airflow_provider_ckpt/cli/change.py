"""Commands that change a checkpoint in place: rollback, undo."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.cli.options import (
    TIME,
    Command,
    accepting,
    executing,
    open_store,
    planning,
    shared,
    source_types,
    stopping,
    user_and_host,
)
from airflow_provider_ckpt.cli.plan_files import read_plan, require_alone, require_not_executed, write_plan
from airflow_provider_ckpt.cli.render import progress_bar, report_change, say
from airflow_provider_ckpt.lifecycle import Stores
from airflow_provider_ckpt.plans import Plan
from airflow_provider_ckpt.sinks import parse_sink
from airflow_provider_ckpt.targets import ToBackup, parse_target


def acting(command: Command) -> Command:
    """What the commands that change a checkpoint in place have in common."""
    command = click.option(
        "--break-lock", is_flag=True, help="Your word that another operator who holds the lock has ended."
    )(command)
    return stopping(planning(accepting(executing(shared(command)))))


@click.command()
@click.argument("location")
@click.option("--to-batch", "batch", type=click.IntRange(min=0), help="The last batch to keep.")
@click.option("--to-timestamp", "timestamp", type=TIME, help="To the newest batch that began at or before a time.")
@click.option("--to-watermark", "watermark", type=TIME, help="To the newest batch with at most this watermark.")
@click.option(
    "--to-offsets",
    "offsets",
    metavar="JSON",
    help='To the newest batch that is not past these offsets, such as {"0": {"topic": {"0": 5}}}.',
)
@click.option("--to-backup", "backup", metavar="ROOT/ID", help="To the batch of a backup, also when it was purged.")
@click.option("--source", "sources", multiple=True, metavar="ID=TYPE", help="The type of a source, such as 0=kafka.")
@click.option("--backups", "backup_root", metavar="ROOT", help="Where to look for a batch that was purged.")
@click.option("--sink", metavar="KIND[:URI]", help="The sink: file, delta, iceberg or hudi with its URI; kafka, …")
@click.option("--trim-sink-log", is_flag=True, help="Remove the dropped batches from the file sink's log as well.")
@acting
def rollback(
    location: str,
    batch: int | None,
    timestamp: str | None,
    watermark: str | None,
    offsets: str | None,
    backup: str | None,
    sources: tuple[str, ...],
    backup_root: str | None,
    sink: str | None,
    trim_sink_log: bool,
    undo_root: str | None,
    storage_options: tuple[str, ...],
    plan_file: str | None,
    **how: Any,
) -> None:
    """Drop every batch after one, in place; what is removed is kept for undo.

    Times are ISO 8601 (UTC when they name no zone), epoch milliseconds, `2 hours ago` or `now-2h`.
    """
    stores = _stores(location, undo_root, storage_options)
    if plan_file:
        targets = {"--to-batch": batch, "--to-timestamp": timestamp, "--to-watermark": watermark}
        others = {"--to-offsets": offsets, "--to-backup": backup, "--source": sources, "--backups": backup_root}
        require_alone("--plan", {**targets, **others, "--sink": sink, "--trim-sink-log": trim_sink_log or None})
        _carry_out(read_plan(plan_file, "rollback"), stores, storage_options, **how)
        return
    if trim_sink_log and not sink:
        raise click.UsageError("--trim-sink-log needs --sink file:URI")
    kinds = source_types(sources)
    try:
        target = parse_target(
            batch=batch, timestamp=timestamp, watermark=watermark, offsets=offsets, backup=backup, kinds=kinds
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if isinstance(target, ToBackup):
        if backup_root:
            raise click.UsageError("--to-backup names its root; --backups is for the other targets")
        backup_root = target.root
    declared = parse_sink(sink) if sink else None
    stores = replace(
        stores,
        sink=open_store(declared.directory, storage_options) if declared and declared.directory else None,
        backups=open_store(backup_root, storage_options) if backup_root else None,
    )
    plan = lifecycle.make_rollback(stores, target, trim_sink_log=trim_sink_log, sink=declared, sources=kinds)
    _carry_out(plan, stores, storage_options, **how)


@click.command()
@click.argument("location")
@click.option("--sink", metavar="KIND:URI", help="The sink, when none was declared for the rollback.")
@acting
def undo(
    location: str,
    sink: str | None,
    undo_root: str | None,
    storage_options: tuple[str, ...],
    plan_file: str | None,
    **how: Any,
) -> None:
    """Take back the newest rollback; what the query has written since is dropped first, and kept in the record.

    An undo is not undone: roll back again instead.
    """
    stores = _stores(location, undo_root, storage_options)
    if plan_file:
        require_alone("--plan", {"--sink": sink})
        _carry_out(read_plan(plan_file, "undo"), stores, storage_options, **how)
        return
    declared = parse_sink(sink) if sink else None
    if declared is not None and declared.directory:
        stores = replace(stores, sink=open_store(declared.directory, storage_options))
    plan = lifecycle.make_undo(stores, sink=declared, opened=lambda where: open_store(where, storage_options))
    _carry_out(plan, stores, storage_options, **how)


def _stores(location: str, undo_root: str | None, storage_options: tuple[str, ...]) -> Stores:
    undo = open_store(undo_root, storage_options) if undo_root else None
    return Stores(open_store(location, storage_options), undo=undo)


def _for_plan(plan: Plan, stores: Stores, storage_options: tuple[str, ...]) -> Stores:
    """The stores, with the sink and the backup root that the plan names."""
    if stores.sink is None and (directory := lifecycle.sink_of(plan).directory):
        stores = replace(stores, sink=open_store(directory, storage_options))
    if stores.backups is None and plan.kind == "rollback" and plan.source:
        stores = replace(stores, backups=open_store(plan.source, storage_options))
    return stores


def _carry_out(
    plan: Plan,
    stores: Stores,
    storage_options: tuple[str, ...],
    *,
    execute: bool,
    query_is_stopped: bool,
    quiet_s: float | None,
    break_lock: bool,
    accept_sink: tuple[str, ...],
    plan_out: str | None,
    as_json: bool,
) -> None:
    require_not_executed(plan_out, execute=execute)
    receipt = None
    if plan_out:
        write_plan(plan_out, plan, (stores.checkpoint, stores.sink, stores.undo, stores.backups))
    if execute:
        with progress_bar(plan.kind) as on_step:
            receipt = lifecycle.apply(
                plan,
                _for_plan(plan, stores, storage_options),
                by=user_and_host(),
                query_is_stopped=query_is_stopped,
                quiet_s=quiet_s,
                break_lock=break_lock,
                on_step=on_step,
                tell=lambda text: say(text, err=True),
                accept_sink=accept_sink,
            )
    report_change(plan, receipt, as_json=as_json, plan_out=plan_out)


COMMANDS = (rollback, undo)
