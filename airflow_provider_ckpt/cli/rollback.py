"""Commands that change a checkpoint in place: rollback, undo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.kinds import Kind
from airflow_provider_ckpt.change.places import Stores, require_own_place
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.cli.change_output import report_change
from airflow_provider_ckpt.cli.options import (
    TIME,
    TIMES,
    Command,
    Whole,
    accepting,
    directories,
    examples,
    executing,
    opening,
    planning,
    shared,
    source_types,
    stopping,
    triggered,
    user_and_host,
)
from airflow_provider_ckpt.cli.plan_files import read_plan, require_alone, require_consistent, write_plan
from airflow_provider_ckpt.cli.render import progress_bar, say
from airflow_provider_ckpt.rollback.goal import ToBackup, parse_target
from airflow_provider_ckpt.rollback.make import make_rollback
from airflow_provider_ckpt.sinks.declared import parse_sink
from airflow_provider_ckpt.storage.store import Store


def acting(command: Command) -> Command:
    """What the commands that change a checkpoint in place have in common."""
    command = click.option(
        "--break-lock", is_flag=True, help="Remove the lock of another change, which you know has ended."
    )(command)
    return stopping(planning(triggered(accepting(executing(shared(command))))))


@click.command(
    epilog=examples(
        "ckpt rollback s3://lake/checkpoints/orders --to-batch 41 --sink file:s3://lake/orders --trim-sink-log",
        "ckpt rollback s3://lake/checkpoints/orders --to-timestamp 'now-2h' --plan-out rollback.json",
        also=TIMES,
    )
)
@click.argument("location", shell_complete=directories)
@click.option(
    "--to-batch",
    "batch",
    type=Whole(min=0),
    metavar="BATCH_ID",
    help="Keep this batch, and drop all later ones.",
)
@click.option(
    "--to-timestamp",
    "timestamp",
    type=TIME,
    metavar="TIME",
    help="Roll back to the newest batch that began at or before this time.",
)
@click.option(
    "--to-watermark",
    "watermark",
    type=TIME,
    metavar="TIME",
    help="Roll back to the newest batch whose watermark is at most this time.",
)
@click.option(
    "--to-offsets",
    "offsets",
    metavar="JSON",
    help="Roll back to the newest batch in which no source partition is beyond these offsets, by source id, such as "
    '{"0": {"topic": {"0": 5}}}.',
)
@click.option(
    "--to-backup",
    "backup",
    metavar="ROOT/ID",
    help="Roll back to the batch of this backup. Files that Spark has purged are restored from it.",
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="ID=TYPE",
    help="Type of a source by its id, such as 0=kafka; --to-offsets needs it. Can be given more than once.",
)
@click.option(
    "--backups",
    "backup_root",
    shell_complete=directories,
    metavar="ROOT",
    help="Root of the backups from which files that Spark has purged may be restored.",
)
@click.option(
    "--sink",
    metavar="TYPE[:URI]",
    help="Sink of the query: file, delta, iceberg or hudi with its URI, or another type such as kafka. The plan states "
    "the effect on it.",
)
@click.option(
    "--trim-sink-log",
    is_flag=True,
    help="Also remove the dropped batches from the file sink's log. Needs --sink file:URI.",
)
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
    trigger: str | None,
    undo_root: str | None,
    storage_options: tuple[str, ...],
    plan_file: str | None,
    **how: Any,
) -> None:
    """Drop every batch after the given one, in place. Removed files are kept for ckpt undo.

    Give exactly one --to option, or --plan.
    """
    require_consistent(how["plan_out"], how["approved_by"], execute=how["execute"])
    opener = opening(storage_options)
    targets: dict[str, Any] = {"--to-batch": batch, "--to-timestamp": timestamp, "--to-watermark": watermark}
    targets |= {"--to-offsets": offsets, "--to-backup": backup}
    if plan_file:
        others = {"--source": sources, "--backups": backup_root}
        about_sink = {"--sink": sink, "--trim-sink-log": trim_sink_log or None, "--trigger": trigger}
        require_alone("--plan", {**targets, **others, **about_sink})
        _carry_out(*_read_own(plan_file, "rollback", Stores.of(location, opener, undo=undo_root)), opener, **how)
        return
    if sum(value is not None for value in targets.values()) != 1:
        raise click.UsageError(f"give exactly one of {', '.join(targets)}, or --plan FILE")
    if trim_sink_log and not sink:
        raise click.UsageError("--trim-sink-log needs --sink file:URI")
    types = source_types(sources)
    try:
        target = parse_target(
            batch=batch, timestamp=timestamp, watermark=watermark, offsets=offsets, backup=backup, source_types=types
        )
    except ValueError as error:
        if offsets and {batch, timestamp, watermark, backup} == {None}:
            raise click.BadParameter(str(error), param_hint="--to-offsets") from None
        raise click.UsageError(str(error)) from None
    if isinstance(target, ToBackup):
        if backup_root:
            raise click.UsageError("--to-backup names its root; --backups is for the other targets")
        backup_root = target.root
    declared = parse_sink(sink) if sink else None
    stores = Stores.of(location, opener, sink=declared, undo=undo_root, backups=backup_root)
    plan = make_rollback(stores, target, trim_sink_log=trim_sink_log, sink=declared, sources=types, trigger=trigger)
    _carry_out(plan, stores, opener, **how)


@click.command(
    epilog=examples(
        "ckpt undo s3://lake/checkpoints/orders",
        "ckpt undo s3://lake/checkpoints/orders --execute --i-know-it-is-stopped",
        also=TIMES,
    )
)
@click.argument("location", shell_complete=directories)
@click.option(
    "--sink", metavar="TYPE[:URI]", help="Sink of the query. By default the one that was declared for the rollback."
)
@acting
def undo(
    location: str,
    sink: str | None,
    trigger: str | None,
    undo_root: str | None,
    storage_options: tuple[str, ...],
    plan_file: str | None,
    **how: Any,
) -> None:
    """Undo the newest rollback. Batches that the query has written since are dropped, and kept in the record.

    An undo cannot be undone: roll back again instead.
    """
    require_consistent(how["plan_out"], how["approved_by"], execute=how["execute"])
    opener = opening(storage_options)
    if plan_file:
        require_alone("--plan", {"--sink": sink, "--trigger": trigger})
        _carry_out(*_read_own(plan_file, "undo", Stores.of(location, opener, undo=undo_root)), opener, **how)
        return
    declared = parse_sink(sink) if sink else None
    stores = Stores.of(location, opener, sink=declared, undo=undo_root)
    plan = make_undo(stores, sink=declared, opened=opener, trigger=trigger)
    _carry_out(plan, stores, opener, **how)


def _read_own(path: str, kind: Kind, stores: Stores) -> tuple[Plan, Stores]:
    """The plan of a file, which has to be one for this checkpoint."""
    plan = read_plan(path, kind)
    require_own_place(plan, stores)
    return plan, stores


def _carry_out(
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
