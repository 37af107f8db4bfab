"""Commands that change a checkpoint in place: rollback, undo."""

from __future__ import annotations

from dataclasses import replace

import click

from airflow_provider_ckpt.change.open_sinks import sink_of
from airflow_provider_ckpt.change.plan.fenced import idle_query_warning
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.find_done import find_undo_of
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.change.undo.request import UndoRequest
from airflow_provider_ckpt.changes.rollback.goal import ToBackup
from airflow_provider_ckpt.changes.rollback.make_asked import make_rollback_asked
from airflow_provider_ckpt.changes.rollback.request import RollbackRequest
from airflow_provider_ckpt.cli.changes.asking import Change, changing, require_sink_to_trim
from airflow_provider_ckpt.cli.changes.in_place import acting
from airflow_provider_ckpt.cli.options import TIMES, command, directories, types_of
from airflow_provider_ckpt.fleet.find_readers import with_readers


@command(
    "ckpt rollback s3://lake/checkpoints/orders --to-batch 41 --sink file:s3://lake/orders --trim-sink-log",
    "ckpt rollback s3://lake/checkpoints/orders --to-timestamp 'now-2h' --plan-out rollback.json",
    also=TIMES,
)
@click.argument("location", shell_complete=directories)
@changing("rollback", RollbackRequest, after={"wait_for_batch": (acting,)})
def rollback(change: Change, asked: RollbackRequest) -> None:
    """Drop every batch after the given one, in place. Removed files are kept for ckpt undo.

    Give exactly one --to option, or --plan.
    """
    require_sink_to_trim(asked)
    types_of(asked.sources)
    try:
        target = asked.target()
    except ValueError as error:
        if asked.to_offsets is not None:
            raise click.BadParameter(str(error), param_hint="--to-offsets") from None
        raise click.UsageError(str(error)) from None
    if isinstance(target, ToBackup) and asked.backup_root:
        raise click.UsageError("--to-backup already gives the root; use --backup-root only with the other --to options")
    stores = change.stores(sink=asked.sink, backups=asked.backups_of(target))

    def make(fenced: bool) -> Plan:
        plan = make_rollback_asked(asked, target, stores, fenced=fenced)
        return with_readers(plan, stores, asked.sink, change.opener, asked.downstream)

    plan, fenced = change.behind(asked, make, stores)
    if asked.fence and not fenced and plan.actions and not change.how["execute"]:
        plan = replace(plan, warnings=(*plan.warnings, idle_query_warning(plan.location)))
    change.carry_out(plan, stores)


@command(
    "ckpt undo s3://lake/checkpoints/orders",
    "ckpt undo s3://lake/checkpoints/orders --execute --i-know-it-is-stopped",
    also=TIMES,
)
@click.argument("location", shell_complete=directories)
@changing("undo", UndoRequest, after={"downstream": (acting,)})
def undo(change: Change, asked: UndoRequest) -> None:
    """Undo the newest change, such as a rollback or a reset. Batches that the query has written since are dropped, and
    their files are kept.

    An undo cannot be undone: make the change again instead.
    """
    stores = change.stores(sink=asked.sink)
    if asked.undoes and (done := find_undo_of(asked.undoes, stores)):
        plan = done.plan
    else:
        plan = make_undo(stores, undoes=asked.undoes, sink=asked.sink, opened=change.opener, trigger=asked.trigger)
    plan = with_readers(plan, stores, asked.sink or sink_of(plan), change.opener, asked.downstream)
    change.carry_out(plan, stores)
