"""The command that prunes backups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from airflow_provider_ckpt.backup import prune as prune_module
from airflow_provider_ckpt.backup.make_prune import make_prune
from airflow_provider_ckpt.backup.retention import GRACE_MS, RetentionPolicy
from airflow_provider_ckpt.cli.options import (
    DURATION,
    TIMES,
    Whole,
    allowing_no_backup,
    command,
    directories,
    executing,
    open_store,
    option,
    shared,
    together,
    user_and_host,
)
from airflow_provider_ckpt.cli.query_names import tell_origins
from airflow_provider_ckpt.cli.render import print_json, print_tables, progress_bar, say
from airflow_provider_ckpt.cli.sectioned import Names
from airflow_provider_ckpt.cli.streams import has_done
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.report.table import counted, size
from airflow_provider_ckpt.report.tables import prune_tables

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.backups import PruneDocument

#: Options that keep a number of backups.
_KEEPING = {
    "--keep-last BACKUPS": "Keep this number of newest backups of each query.",
    "--keep-hourly HOURS": "Keep the newest backup of each hour, for this number of hours that have backups.",
    "--keep-daily DAYS": "Keep the newest backup of each day (UTC), for this number of days that have backups.",
    "--keep-weekly WEEKS": "Keep the newest backup of each ISO week, for this number of weeks that have backups.",
    "--keep-monthly MONTHS": "Keep the newest backup of each month, for this number of months that have backups.",
}


@command(
    "ckpt prune s3://lake/backups/orders --keep-last 5 --keep-daily 14",
    "ckpt prune s3://lake/backups/orders --keep-last 5 --keep-tag before-4.3 --execute",
    also=TIMES,
    names=Names(several="in turn", is_backups=True),
)
@click.argument("root", shell_complete=directories)
@together(*(option(usage, text, type=Whole(min=0), default=0) for usage, text in _KEEPING.items()))
@option("--keep-tag NAME", "Keep every backup with this tag. Can be given more than once.", "keep_tags", multiple=True)
@option(
    "--min-redundancy BACKUPS",
    "Never leave fewer than this number of backups of a query.",
    type=Whole(min=1),
    default=1,
)
@option(
    "--grace DURATION",
    "Delete objects that no backup references only when they are older than this. It must be longer than the longest "
    "backup takes. A plain number is seconds.",
    "grace_ms",
    type=DURATION,
    default=f"{GRACE_MS // 3_600_000}h",
)
@allowing_no_backup
@option("--break-lock", "Remove the lock of another prune, which you know has ended.")
@executing
@shared
def prune(
    root: str,
    grace_ms: int,
    allow_empty: bool,
    break_lock: bool,
    execute: bool,
    storage_options: tuple[str, ...],
    as_json: bool,
    **rules: object,
) -> None:
    """Delete the backups that no --keep option keeps.

    A rule that is not given is that of the query file.

    Then it deletes the objects that no backup references. Nothing is deleted while the manifest of a backup cannot
    be read. Several names of the query file are pruned in turn, and without any all its queries, each in its own root
    and by its own rules. Exit code 3 when there is no backup, 4 while another prune runs in the same root.
    """
    try:
        policy = RetentionPolicy(**rules)  # type: ignore[arg-type]  # click has checked them
    except ValueError as error:
        raise click.UsageError(f"{error}; give at least one --keep option, or the key keep in the query file") from None
    tell_origins()
    store = open_store(root, storage_options)
    plan = make_prune(store, policy, grace_ms=grace_ms, allow_empty=allow_empty)
    if not as_json:
        print_tables(prune_tables(plan))
    receipt = None
    if execute:
        with progress_bar("sweeping") as on_step:
            receipt = prune_module.prune(plan, store, by=user_and_host(), break_lock=break_lock, on_step=on_step)
        dropped = counted(len(receipt.dropped), "backup")
        swept = counted(receipt.objects, "object")
        has_done(f"Done: {dropped} deleted, and {swept} that no backup references.")
    if as_json:
        document: PruneDocument = {
            "format_version": FORMAT_VERSION,
            "plan": plan.to_dict(),
            "receipt": receipt.to_dict() if receipt else None,
        }
        print_json(document)
    elif receipt is None:
        say("Nothing was deleted. Add --execute to apply the plan.", colour="yellow")
    elif receipt.status == "already_applied":
        say("There was nothing to delete.", colour="green")
    else:
        say(f"Done: {dropped} deleted, and {swept} ({size(receipt.bytes)}) that no backup references.", colour="green")
