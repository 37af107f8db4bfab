"""The command that shows what was done to a checkpoint, and gives up what an undo would need."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from airflow_provider_ckpt.change.lock import who_holds
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record.forget import find_forgettable, forget
from airflow_provider_ckpt.change.record.journal import find_record, survey
from airflow_provider_ckpt.cli.changes.plan_files import begun_command, undo_command
from airflow_provider_ckpt.cli.options import (
    TIME,
    TIMES,
    command,
    directories,
    executing,
    opening,
    shared,
    user_and_host,
)
from airflow_provider_ckpt.cli.query_names import query_at
from airflow_provider_ckpt.cli.render import print_error, print_json, print_tables, say
from airflow_provider_ckpt.cli.sectioned import Names
from airflow_provider_ckpt.cli.streams import has_done
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError
from airflow_provider_ckpt.fleet.read_histories import Asked, Changes, is_checkpoint, read_histories
from airflow_provider_ckpt.report.table import counted
from airflow_provider_ckpt.report.tables import history_table, plan_tables
from airflow_provider_ckpt.times import time_text
from airflow_provider_ckpt.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from airflow_provider_ckpt.change.plan.plan import Plan
    from airflow_provider_ckpt.change.record.journal import Record
    from airflow_provider_ckpt.documents.changes import ForgetDocument, HistoryDocument, RecordDocument
    from airflow_provider_ckpt.storage.store import Store


@command(
    "ckpt history s3://lake/checkpoints/orders",
    "ckpt history s3://lake/checkpoints --since now-7d --by ann",
    "ckpt history s3://lake/checkpoints/orders --plan 451407f95c58d253",
    also=TIMES,
    names=Names(several="at once", pipeline="flows"),
)
@click.argument("location", shell_complete=directories, nargs=-1)
@click.option(
    "--undo-to",
    "undo_root",
    shell_complete=directories,
    metavar="ROOT",
    help="Directory of the records of changes. By default _ckpt_undo beside the checkpoint.",
)
@click.option("--since", "since_ms", type=TIME, metavar="TIME", help="Only changes that began at this time or later.")
@click.option("--until", "until_ms", type=TIME, metavar="TIME", help="Only changes that began before this time.")
@click.option("--by", metavar="NAME", help="Only changes that this person, or a task of this name, began or approved.")
@click.option("--plan", "plan_id", metavar="PLAN_ID", help="Show the plan of this change only.")
@click.option(
    "--forget",
    "forget_id",
    metavar="PLAN_ID",
    help="Delete the files that were kept to undo this change. Needs --execute.",
)
@executing
@shared
def history(
    location: tuple[str, ...],
    undo_root: str | None,
    plan_id: str | None,
    forget_id: str | None,
    execute: bool,
    storage_options: tuple[str, ...],
    as_json: bool,
    since_ms: int | None,
    until_ms: int | None,
    by: str | None,
) -> None:
    """Show the changes of a checkpoint, or of all below a root.

    It says when each was made, by whom and by which plan. Of several locations, and without one of every query of the
    query file, each has its records where the file says. Records that cannot be read are named on stderr.
    """
    if not location:
        raise click.UsageError("give the location of a checkpoint, or declare queries in a ckpt.yaml")
    asked = Asked(since_ms, until_ms, by or "")
    if asked != Asked() and (plan_id or forget_id):
        raise click.UsageError("--since, --until and --by choose among all changes: leave out --plan and --forget")
    if plan_id and forget_id:
        raise click.UsageError("give --plan or --forget, not both")
    if execute and not forget_id:
        raise click.UsageError("--execute carries out --forget PLAN_ID; without it nothing is changed")
    if len(location) > 1:
        if plan_id or forget_id:
            raise click.UsageError("--plan and --forget are of one checkpoint: give its location")
        _show_several(location, undo_root, opening(storage_options), asked, as_json=as_json)
        return
    stores = _stores_of(location[0], opening(storage_options), undo_root)
    if forget_id:
        _forget(stores, forget_id, execute, as_json)
    elif plan_id:
        _show_plan(stores, plan_id, as_json)
    else:
        _show_changes(stores, asked, as_json=as_json)


def _show_changes(stores: Stores, asked: Asked, *, as_json: bool) -> None:
    """The changes of one checkpoint, also of one that is gone; or of those below a root."""
    where = stores.checkpoint.location
    found, count = _changes_of(stores)
    wanted = _show_found(where, found, asked, count, as_json=as_json)
    if as_json:
        return
    _say_how_many(where, found, wanted, count)
    if count is None and (holder := who_holds(stores.checkpoint, stores.undo)) is not None:
        who = f"{holder.by or 'somebody'} (process {holder.pid}, since {time_text(holder.since_ms)})"
        say(f"The lock of this location is held by {visible(who)}: what is interrupted may still go on.")


def _stores_of(location: str, opener: Callable[[str], Store], undo_root: str | None) -> Stores:
    """A checkpoint with the records of its changes, where they are given or the query file says."""
    query = query_at(location)
    return Stores.of(location, opener, undo=undo_root or (query.undo if query else None))


def _show_several(
    locations: Sequence[str],
    undo_root: str | None,
    opener: Callable[[str], Store],
    asked: Asked,
    *,
    as_json: bool,
) -> None:
    """The changes of several checkpoints, or of those below several roots."""
    found: list[Changes] = []
    for location in locations:
        try:
            found += _changes_of(_stores_of(location, opener, undo_root))[0]
        except CheckpointError as error:
            found.append(Changes(location, problem=str(error)))
    where, count = " ".join(locations), sum(not item.problem for item in found)
    _show_found(where, found, asked, count, as_json=as_json)
    if not as_json:
        shown = sum(len(list(filter(asked.wants, item.records))) for item in found)
        say(f"{counted(shown, 'change')} of {counted(count, 'checkpoint')}.")


def _show_found(
    where: str, found: Sequence[Changes], asked: Asked, count: int | None, *, as_json: bool
) -> list[Changes]:
    """Print the changes that are wanted, and return them."""
    for error in (error for item in found for error in item.unreadable.values()):
        print_error(error, as_json=False)
    problems = [f"{item.location}: {item.problem}" for item in found if item.problem]
    for problem in problems:
        say(visible(problem), colour="red", err=True)
    wanted = [replace(item, records=tuple(filter(asked.wants, item.records))) for item in found]
    if as_json:
        document: HistoryDocument = {
            "format_version": FORMAT_VERSION,
            "location": where,
            "changes": [record.to_dict() for record in _in_order(wanted)],
            "checkpoints": count,
            "not_read": problems,
            "unreadable": [
                {"plan_id": name, **error.to_dict()} for item in found for name, error in item.unreadable.items()
            ],
        }
        print_json(document)
        return wanted
    for item in wanted:
        _print_changes(item.location, item.records)
    return wanted


def _changes_of(stores: Stores) -> tuple[list[Changes], int | None]:
    """The changes of one checkpoint; or of those below a root, and how many these are. Raises CheckpointError."""
    where = stores.checkpoint.location
    changes, unreadable = survey(stores.checkpoint, stores.undo)
    if changes or unreadable or is_checkpoint(stores.checkpoint):
        return [Changes(where, changes, unreadable)], None
    found = list(read_histories([stores.checkpoint], stores.undo))
    if not found:
        raise CheckpointNotFoundError(
            "this is not a checkpoint, there is none below it, and there is no record of a change to it.",
            location=where,
            hint="Records are in _ckpt_undo beside each checkpoint, or where --undo-to says.",
        )
    return found, sum(not item.problem for item in found)


def _in_order(found: Sequence[Changes]) -> list[Record]:
    """The changes of one checkpoint as they are, those of several by the time when they began."""
    records = [record for item in found for record in item.records]
    if len(found) == 1:
        return records
    return sorted(records, key=lambda record: record.begun_at_ms or record.plan.planned_at_ms)


def _print_changes(where: str, changes: Sequence[Record]) -> None:
    if changes:
        print_tables([history_table(where, changes)])
        for record in changes:
            if record.state == "interrupted":
                say(_how_to_end(record.plan), colour="yellow")


def _say_how_many(where: str, found: Sequence[Changes], wanted: Sequence[Changes], count: int | None) -> None:
    """Print what no table has: how many checkpoints were asked, and how many changes are left out."""
    all_of, shown = (sum(len(item.records) for item in items) for items in (found, wanted))
    whose = where if count is None else f"the {counted(count, 'checkpoint')} below {where}"
    if shown < all_of:
        say(f"{counted(all_of - shown, 'other change')} to {visible(whose)} not shown: --since, --until or --by.")
    elif not all_of and not any(item.unreadable for item in found):
        say(f"There is no record of a change to {visible(whose)}.")
    elif count is not None:
        changed = sum(bool(item.records) for item in wanted)
        say(f"{counted(shown, 'change')}, of {changed} of {visible(whose)}.")


def _how_to_end(plan: Plan) -> str:
    """Sentence on how to complete an interrupted change, and how to take it back."""
    taken_back = "" if plan.kind == "undo" else f"; this takes it back: {undo_command(plan)}"
    return (
        f"The {plan.called} {plan.plan_id} is interrupted, unless its process still runs. The command that began it "
        f"completes it, with the options that it had and --execute: {begun_command(plan)}{taken_back}"
    )


def _show_plan(stores: Stores, plan_id: str, as_json: bool) -> None:
    record = find_record(stores.checkpoint, plan_id, stores.undo)
    where = stores.checkpoint.location
    if as_json:
        document: RecordDocument = {
            "format_version": FORMAT_VERSION,
            "location": where,
            "change": record.to_dict(),
            "plan": record.plan.shown(),
        }
        print_json(document)
    else:
        print_tables([history_table(where, [record]), *plan_tables(record.plan, most=len(record.plan.actions))])


def _forget(stores: Stores, plan_id: str, execute: bool, as_json: bool) -> None:
    record = find_forgettable(stores.checkpoint, plan_id, stores.undo)
    deleted = forget(plan_id, stores, by=user_and_host()) if execute else None
    if deleted is not None:
        has_done(f"Done: {counted(deleted, 'saved object')} deleted.")
    if as_json:
        document: ForgetDocument = {
            "format_version": FORMAT_VERSION,
            "location": stores.checkpoint.location,
            "plan_id": plan_id,
            "objects_deleted": deleted,
        }
        print_json(document)
    elif deleted is None:
        say(
            f"This deletes the files that are kept to undo the {record.plan.called} {plan_id}. Then this change cannot "
            "be undone."
        )
        say("Nothing was changed. Nothing was deleted. Add --execute to delete them.", colour="yellow")
    else:
        say(f"Done: {counted(deleted, 'saved object')} deleted.", colour="green")
