"""Commands that add or change something: backup, backups, verify, restore, rollback, undo."""

from __future__ import annotations

import uuid

import click

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.cli.options import executing, open_store, shared, stopping
from airflow_provider_ckpt.cli.render import print_json, print_tables, progress_bar, size, when
from airflow_provider_ckpt.codec.manifest import Manifest
from airflow_provider_ckpt.lifecycle import Receipt, Stores
from airflow_provider_ckpt.plans import Plan
from airflow_provider_ckpt.report import Table, plan_tables
from airflow_provider_ckpt.sinks import parse_sink


@click.command()
@click.argument("location")
@click.option("--to", "root", required=True, metavar="ROOT", help="Where backups live.")
@click.option("--dry-run", is_flag=True, help="Show what would be copied.")
@shared
def backup(location: str, root: str, dry_run: bool, storage_options: tuple[str, ...], as_json: bool) -> None:
    """Copy what a restart after the newest committed batch needs; also right while the query runs."""
    checkpoint = open_store(location, storage_options)
    if dry_run:
        view, chosen = lifecycle.plan_of_backup(checkpoint)
        sizes = {name: view.objects[name].size for name in chosen.names}
        if as_json:
            print_json({"location": view.location, "batch_id": chosen.batch_id, "objects": list(chosen.names)})
        else:
            print_tables([Table(f"A backup of batch {chosen.batch_id}", ("object", "bytes"), tuple(sizes.items()))])
        return
    with progress_bar("copying") as on_step:
        taken = lifecycle.take_backup(checkpoint, open_store(root, storage_options), on_step=on_step)
    if as_json:
        print_json(_backup_document(taken))
    else:
        click.echo(
            f"Backup {taken.backup_id} of batch {taken.batch_id}: "
            f"{len(taken.objects)} objects, {size(taken.total_bytes)}."
        )


def _backup_document(taken: Manifest) -> dict[str, object]:
    return {
        "backup_id": taken.backup_id,
        "location": taken.location,
        "query_id": taken.query_id,
        "batch_id": taken.batch_id,
        "created_at": when(taken.created_at_ms),
        "watermark_ms": taken.watermark_ms,
        "objects": len(taken.objects),
        "bytes_copied": taken.total_bytes,
        "bytes_reused": 0,
    }


@click.command()
@click.argument("root")
@shared
def backups(root: str, storage_options: tuple[str, ...], as_json: bool) -> None:
    """The backups under a root, oldest first."""
    found = lifecycle.list_backups(open_store(root, storage_options))
    if as_json:
        print_json({"backups": [_backup_document(item) for item in found]})
        return
    columns = ("backup", "batch", "watermark", "objects", "size", "of")
    print_tables([Table(root, columns, tuple(map(_backup_row, found)))])


def _backup_row(item: Manifest) -> tuple[object, ...]:
    watermark, total = when(item.watermark_ms), size(item.total_bytes)
    return item.backup_id, item.batch_id, watermark, len(item.objects), total, item.location


@click.command()
@click.argument("root")
@click.argument("backup_id")
@shared
def verify(root: str, backup_id: str, storage_options: tuple[str, ...], as_json: bool) -> None:
    """Read a backup back (its id, or `latest`): sizes, hashes, and whether a restart from it is possible."""
    store = open_store(root, storage_options)
    found = lifecycle.find_backup(store, backup_id)
    with progress_bar("verifying") as on_step:
        lifecycle.verify_backup(store, found, on_step=on_step)
    if as_json:
        print_json({**_backup_document(found), "verified": True})
    else:
        click.secho(f"Backup {found.backup_id}: {len(found.objects)} objects are what was backed up.", fg="green")


@click.command()
@click.argument("root")
@click.argument("backup_id")
@click.option("--to", "location", required=True, metavar="LOC", help="A new or empty location.")
@click.option("--new-query-id", is_flag=True, help="Give the restored query an id of its own (a fork).")
@executing
@shared
def restore(
    root: str,
    backup_id: str,
    location: str,
    new_query_id: bool,
    execute: bool,
    storage_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write a backup (its id, or `latest`) to a new or empty location."""
    source, target = open_store(root, storage_options), open_store(location, storage_options)
    found = lifecycle.find_backup(source, backup_id)
    fork_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{found.backup_id} {target.location}")) if new_query_id else None
    plan = lifecycle.make_restore(source, found, target, fork_id)
    receipt = None
    if execute:
        with progress_bar("restoring") as on_step:
            receipt = lifecycle.restore(plan, source, target, on_step=on_step)
    _report(plan, receipt, as_json=as_json)


@click.command()
@click.argument("location")
@click.option("--to-batch", "batch_id", required=True, type=click.IntRange(min=0), help="The last batch to keep.")
@click.option("--sink", metavar="KIND:URI", help="The sink of the query, such as file:/data/out.")
@click.option("--trim-sink-log", is_flag=True, help="Remove the dropped batches from the file sink's log as well.")
@stopping
@executing
@shared
def rollback(
    location: str,
    batch_id: int,
    sink: str | None,
    trim_sink_log: bool,
    query_is_stopped: bool,
    quiet_s: float | None,
    undo_root: str | None,
    execute: bool,
    storage_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Drop every batch after one, in place; what is removed is kept for undo."""
    if trim_sink_log and not sink:
        raise click.UsageError("--trim-sink-log needs --sink file:URI")
    stores = Stores(
        open_store(location, storage_options),
        open_store(parse_sink(sink), storage_options) if sink else None,
        open_store(undo_root, storage_options) if undo_root else None,
    )
    plan = lifecycle.make_rollback(stores, batch_id, trim_sink_log=trim_sink_log)
    _carry_out(plan, stores, execute, query_is_stopped, quiet_s, as_json)


@click.command()
@click.argument("location")
@click.option("--sink", metavar="KIND:URI", help="The sink, when its log was trimmed.")
@stopping
@executing
@shared
def undo(
    location: str,
    sink: str | None,
    query_is_stopped: bool,
    quiet_s: float | None,
    undo_root: str | None,
    execute: bool,
    storage_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Take back the newest rollback, as long as the query has not run since."""
    stores = Stores(
        open_store(location, storage_options),
        undo=open_store(undo_root, storage_options) if undo_root else None,
    )
    plan = lifecycle.make_undo(stores)
    where = parse_sink(sink) if sink else plan.sink
    if where:
        stores = Stores(stores.checkpoint, open_store(where, storage_options), stores.undo)
    _carry_out(plan, stores, execute, query_is_stopped, quiet_s, as_json)


def _carry_out(
    plan: Plan, stores: Stores, execute: bool, query_is_stopped: bool, quiet_s: float | None, as_json: bool
) -> None:
    receipt = None
    if execute:
        with progress_bar(plan.kind) as on_step:
            receipt = lifecycle.apply(plan, stores, query_is_stopped=query_is_stopped, quiet_s=quiet_s, on_step=on_step)
    _report(plan, receipt, as_json=as_json)


def _report(plan: Plan, receipt: Receipt | None, *, as_json: bool) -> None:
    if as_json:
        print_json({"plan": {"plan_id": plan.plan_id, **plan.to_dict()}, "receipt": receipt and receipt.to_dict()})
        return
    print_tables(plan_tables(plan))
    if receipt is None:
        click.secho("Nothing was changed. Add --execute to carry the plan out.", fg="yellow")
    elif receipt.status == "already_applied":
        click.secho("Nothing was left to do.", fg="green")
    else:
        kept = f" What was removed is kept in {receipt.record}." if receipt.record and plan.kind == "rollback" else ""
        click.secho(f"Done: {receipt.actions} steps.{kept}", fg="green")


COMMANDS = (backup, backups, verify, restore, rollback, undo)
