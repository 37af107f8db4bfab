"""The command that shows what was done to a checkpoint, and gives up what an undo would need."""

from __future__ import annotations

import click

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.cli.options import executing, open_store, shared, user_and_host
from airflow_provider_ckpt.cli.render import print_json, print_tables, say
from airflow_provider_ckpt.cli.streams import has_done
from airflow_provider_ckpt.lifecycle import Stores
from airflow_provider_ckpt.report import history_table, plan_tables


@click.command()
@click.argument("location")
@click.option("--undo-to", "undo_root", metavar="ROOT", help="Where the records are, when not beside the checkpoint.")
@click.option("--plan", "plan_id", metavar="PLAN_ID", help="Show the plan of one change.")
@click.option("--forget", "forget_id", metavar="PLAN_ID", help="Delete what this change has saved for its undo.")
@executing
@shared
def history(
    location: str,
    undo_root: str | None,
    plan_id: str | None,
    forget_id: str | None,
    execute: bool,
    storage_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show what was done to a checkpoint: when, by whom, by which plan."""
    if plan_id and forget_id:
        raise click.UsageError("give --plan or --forget, not both")
    undo = open_store(undo_root, storage_options) if undo_root else None
    stores = Stores(open_store(location, storage_options), undo=undo)
    if forget_id:
        _forget(stores, forget_id, execute, as_json)
    elif plan_id:
        _show_plan(stores, plan_id, as_json)
    else:
        changes = lifecycle.history(stores.checkpoint, stores.undo)
        where = stores.checkpoint.location
        if as_json:
            print_json({"location": where, "changes": [record.to_dict() for record in changes]})
        else:
            print_tables([history_table(where, changes)])


def _show_plan(stores: Stores, plan_id: str, as_json: bool) -> None:
    record = lifecycle.find_record(stores.checkpoint, plan_id, stores.undo)
    where = stores.checkpoint.location
    if as_json:
        print_json({"location": where, "change": record.to_dict(), "plan": record.plan.to_dict()})
    else:
        print_tables([history_table(where, [record]), *plan_tables(record.plan, most=len(record.plan.actions))])


def _forget(stores: Stores, plan_id: str, execute: bool, as_json: bool) -> None:
    record = lifecycle.find_forgettable(stores.checkpoint, plan_id, stores.undo)
    deleted = lifecycle.forget(plan_id, stores, by=user_and_host()) if execute else None
    if deleted is not None:
        has_done(f"Done: {deleted} saved objects deleted.")
    if as_json:
        where = stores.checkpoint.location
        print_json({"location": where, "plan_id": plan_id, "objects_deleted": deleted})
    elif deleted is None:
        say(f"What the {record.plan.kind} {plan_id} has saved will be deleted; it cannot be undone then.")
        say("Nothing was changed. Add --execute to do it.", colour="yellow")
    else:
        say(f"Done: {deleted} saved objects deleted.", colour="green")


COMMANDS = (history,)
