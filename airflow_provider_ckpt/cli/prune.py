"""The command that prunes backups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from airflow_provider_ckpt.backup import prune as prune_module
from airflow_provider_ckpt.backup.prune import GRACE_MS, make_prune
from airflow_provider_ckpt.backup.retention import RetentionPolicy
from airflow_provider_ckpt.cli.options import DURATION, directories, executing, open_store, shared, user_and_host
from airflow_provider_ckpt.cli.render import print_json, print_tables, progress_bar, say, size
from airflow_provider_ckpt.cli.streams import has_done
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.report.tables import prune_tables

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.backups import PruneDocument

_COUNT = click.IntRange(min=0)


@click.command()
@click.argument("root", shell_complete=directories)
@click.option("--keep-last", type=_COUNT, default=0, metavar="N", help="Keep the newest N of each query.")
@click.option("--keep-hourly", type=_COUNT, default=0, metavar="N", help="Keep one of each of the last N hours.")
@click.option("--keep-daily", type=_COUNT, default=0, metavar="N", help="Keep one of each of the last N days (UTC).")
@click.option("--keep-weekly", type=_COUNT, default=0, metavar="N", help="Keep one of each of the last N ISO weeks.")
@click.option("--keep-monthly", type=_COUNT, default=0, metavar="N", help="Keep one of each of the last N months.")
@click.option("--keep-tag", "keep_tags", multiple=True, metavar="NAME", help="Keep all with this tag; repeatable.")
@click.option(
    "--min-redundancy",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Leave N backups of each query, whatever else; 1 by default.",
)
@click.option(
    "--grace",
    "grace_ms",
    type=DURATION,
    default=f"{GRACE_MS // 1000}s",
    metavar="DURATION",
    help="How old what no backup names must be, such as 36h or P2D; a day by default. Longer than any backup takes.",
)
@click.option("--allow-empty", is_flag=True, help="A root without any backup is no error.")
@click.option("--break-lock", is_flag=True, help="Your word that another prune that holds the lock has ended.")
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
    """Drop backups that no rule keeps, and sweep what no backup names any more.

    Nothing is dropped or swept while a manifest cannot be read. Exit code 3 when there is no backup at all, 4 while
    another prune is at work in the same root.
    """
    try:
        policy = RetentionPolicy(**rules)  # type: ignore[arg-type]  # click has checked them
    except ValueError as error:
        raise click.UsageError(f"{error}: give one of the --keep options") from None
    store = open_store(root, storage_options)
    plan = make_prune(store, policy, grace_ms=grace_ms, allow_empty=allow_empty)
    if not as_json:
        print_tables(prune_tables(plan))
    receipt = None
    if execute:
        with progress_bar("sweeping") as on_step:
            receipt = prune_module.prune(plan, store, by=user_and_host(), break_lock=break_lock, on_step=on_step)
        has_done(f"Done: {len(receipt.dropped)} backups dropped, {receipt.objects} objects swept.")
    if as_json:
        document: PruneDocument = {
            "format_version": FORMAT_VERSION,
            "plan": plan.to_dict(),
            "receipt": receipt.to_dict() if receipt else None,
        }
        print_json(document)
    elif receipt is None:
        say("Nothing was deleted. Add --execute to carry the plan out.", colour="yellow")
    elif receipt.status == "already_applied":
        say("Nothing was left to do.", colour="green")
    else:
        say(
            f"Done: {len(receipt.dropped)} backups dropped, {receipt.objects} objects and {size(receipt.bytes)} swept.",
            colour="green",
        )
