"""Commands that change a checkpoint in place: rollback, undo."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from airflow_provider_ckpt.change.fenced import idle_query_warning
from airflow_provider_ckpt.change.open_sinks import sink_of
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.change.record.find_done import find_undo_of
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.goal import BeforeDeploy, ToBackup, parse_target
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.cli.changes.bookmark_file import read_bookmark
from airflow_provider_ckpt.cli.changes.in_place import acting, carry_out, fencing, planned_behind, read_own
from airflow_provider_ckpt.cli.changes.plan_files import require_alone, require_consistent
from airflow_provider_ckpt.cli.options import (
    TIME,
    TIMES,
    Command,
    Whole,
    directories,
    examples,
    opening,
    triggered,
    types_of,
    with_sink,
    with_sources,
)
from airflow_provider_ckpt.fleet.find_readers import with_readers
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.query.source import Source


def searching_readers(command: Command) -> Command:
    """``--downstream``, for what drops batches whose rows other queries may have read."""
    return click.option(
        "--downstream",
        shell_complete=directories,
        multiple=True,
        metavar="ROOT",
        help="Also search below this root for checkpoints of other queries that have read what is dropped. The "
        "directory that holds this checkpoint is always searched. Can be given more than once.",
    )(command)


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
    "--to-before-deploy",
    "before_deploy",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Roll back to the batch that was the newest committed one when ckpt gate --bookmark has written this file.",
)
@with_sources(
    "Type of a source by its id, such as 0=kafka; --to-offsets needs it. Can be given more than once.",
    metavar="ID=TYPE",
)
@click.option(
    "--backups",
    "backup_root",
    shell_complete=directories,
    metavar="ROOT",
    help="Root of the backups from which files that Spark has purged may be restored.",
)
@with_sink
@click.option(
    "--trim-sink-log",
    is_flag=True,
    help="Also remove the dropped batches from the file sink's log. Needs --sink file:URI.",
)
@searching_readers
@fencing
@acting
@triggered
def rollback(
    location: str,
    batch: int | None,
    timestamp: str | None,
    watermark: str | None,
    offsets: str | None,
    backup: str | None,
    before_deploy: Path | None,
    sources: dict[str, Source],
    backup_root: str | None,
    sink: str | None,
    trim_sink_log: bool,
    downstream: tuple[str, ...],
    trigger: str | None,
    undo_root: str | None,
    storage_options: tuple[str, ...],
    plan_file: str | None,
    fence: bool,
    wait_s: float,
    **how: Any,
) -> None:
    """Drop every batch after the given one, in place. Removed files are kept for ckpt undo.

    Give exactly one --to option, or --plan.
    """
    require_consistent(how["plan_out"], how["approved_by"], execute=how["execute"])
    opener = opening(storage_options)
    targets: dict[str, Any] = {"--to-batch": batch, "--to-timestamp": timestamp, "--to-watermark": watermark}
    targets |= {"--to-offsets": offsets, "--to-backup": backup, "--to-before-deploy": before_deploy}
    if plan_file:
        others = {"--source": sources, "--backups": backup_root, "--downstream": downstream}
        about_sink = {"--sink": sink, "--trim-sink-log": trim_sink_log or None, "--trigger": trigger}
        about_sink |= {"--fence": fence or None}
        require_alone("--plan", {**targets, **others, **about_sink})
        carry_out(*read_own(plan_file, "rollback", Stores.of(location, opener, undo=undo_root)), opener, **how)
        return
    if sum(value is not None for value in targets.values()) != 1:
        raise click.UsageError(f"give exactly one of {', '.join(targets)}, or --plan FILE")
    if trim_sink_log and not sink:
        raise click.UsageError("--trim-sink-log needs --sink file:URI")
    types = types_of(sources)
    said: dict[str, Any] = {
        "batch": batch,
        "timestamp": timestamp,
        "watermark": watermark,
        "offsets": offsets,
        "backup": backup,
    }
    try:
        bookmark = None if before_deploy is None else read_bookmark(before_deploy)
        target = BeforeDeploy(bookmark) if bookmark else parse_target(**said, source_types=types)
    except ValueError as error:
        if offsets and {batch, timestamp, watermark, backup} == {None}:
            raise click.BadParameter(str(error), param_hint="--to-offsets") from None
        raise click.UsageError(str(error)) from None
    if isinstance(target, ToBackup):
        if backup_root:
            raise click.UsageError("--to-backup already gives the root; use --backups only with the other --to options")
        backup_root = target.root
    declared = parse_sink(sink) if sink else None
    stores = Stores.of(location, opener, sink=declared, undo=undo_root, backups=backup_root)
    told: dict[str, Any] = {"trim_sink_log": trim_sink_log, "sink": declared, "sources": types, "trigger": trigger}

    def make(fenced: bool) -> Plan:
        return with_readers(make_rollback(stores, target, fenced=fenced, **told), stores, declared, opener, downstream)

    plan, fenced = planned_behind(make, stores, fence=fence, wait_s=wait_s, trigger=trigger, how=how)
    if fence and not fenced and plan.actions and not how["execute"]:
        plan = replace(plan, warnings=(*plan.warnings, idle_query_warning(plan.location)))
    carry_out(plan, stores, opener, **how)


@click.command(
    epilog=examples(
        "ckpt undo s3://lake/checkpoints/orders",
        "ckpt undo s3://lake/checkpoints/orders --execute --i-know-it-is-stopped",
        also=TIMES,
    )
)
@click.argument("location", shell_complete=directories)
@click.option(
    "--sink", metavar="TYPE[:URI]", help="Sink of the query. By default the one that was declared for the change."
)
@click.option(
    "--undoes",
    metavar="PLAN_ID",
    help="Undo this change, as ckpt history names it, and no other. Refused when a later one has to be undone first; "
    "nothing is done when it is undone already, so a script may say it twice.",
)
@searching_readers
@acting
@triggered
def undo(
    location: str,
    sink: str | None,
    undoes: str | None,
    downstream: tuple[str, ...],
    trigger: str | None,
    undo_root: str | None,
    storage_options: tuple[str, ...],
    plan_file: str | None,
    **how: Any,
) -> None:
    """Undo the newest change, such as a rollback or a reset. Batches that the query has written since are dropped, and
    their files are kept.

    An undo cannot be undone: make the change again instead.
    """
    require_consistent(how["plan_out"], how["approved_by"], execute=how["execute"])
    opener = opening(storage_options)
    if plan_file:
        require_alone("--plan", {"--sink": sink, "--undoes": undoes, "--downstream": downstream, "--trigger": trigger})
        carry_out(*read_own(plan_file, "undo", Stores.of(location, opener, undo=undo_root)), opener, **how)
        return
    declared = parse_sink(sink) if sink else None
    stores = Stores.of(location, opener, sink=declared, undo=undo_root)
    done = find_undo_of(undoes, stores) if undoes else None
    plan = done.plan if done else make_undo(stores, undoes=undoes, sink=declared, opened=opener, trigger=trigger)
    plan = with_readers(plan, stores, declared or sink_of(plan), opener, downstream)
    carry_out(plan, stores, opener, **how)
