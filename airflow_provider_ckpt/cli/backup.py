"""Commands about backups: backup, backups, verify, restore, and prune from its own module."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from airflow_provider_ckpt.backup.catalog import LATEST, find_backup, nothing_found, survey_backups
from airflow_provider_ckpt.backup.patience import COMMIT_WAIT_S
from airflow_provider_ckpt.backup.retention import date_warnings
from airflow_provider_ckpt.backup.take import BackupPlan, plan_of_backup, take_backup
from airflow_provider_ckpt.backup.verify import verify_backup
from airflow_provider_ckpt.change.open_sinks import open_sinks
from airflow_provider_ckpt.change.places import Stores, require_own_place
from airflow_provider_ckpt.changes.restore import rehearse as rehearse_module
from airflow_provider_ckpt.changes.restore import restore as restore_module
from airflow_provider_ckpt.changes.restore.make import RestoreRequest, fork_id, make_restore
from airflow_provider_ckpt.changes.restore.put_origin_fence import behind_fence_of_origin
from airflow_provider_ckpt.cli.changes.asking import asked_of, beside_plan, given, options_of
from airflow_provider_ckpt.cli.changes.change_output import report_change
from airflow_provider_ckpt.cli.changes.in_place import tell_user
from airflow_provider_ckpt.cli.changes.plan_files import read_plan, require_alone, require_consistent, write_plan
from airflow_provider_ckpt.cli.options import (
    DURATION,
    accepting,
    allowing_no_backup,
    command,
    directories,
    executing,
    open_store,
    opening,
    option,
    pairs,
    planning,
    shared,
    user_and_host,
)
from airflow_provider_ckpt.cli.query_names import require_declared, with_declarations
from airflow_provider_ckpt.cli.render import print_error, print_json, print_tables, progress_bar, say
from airflow_provider_ckpt.cli.sectioned import Names
from airflow_provider_ckpt.cli.streams import has_done
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.report.table import size
from airflow_provider_ckpt.report.tables import (
    backup_plan_tables,
    backups_table,
    findings_table,
    rehearsal_table,
    sentences_on_unknown,
)

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.backups import (
        BackupDocument,
        BackupPlanDocument,
        BackupsDocument,
        VerifyDocument,
    )


@command(
    "ckpt backup s3://lake/checkpoints/orders --to s3://lake/backups/orders",
    "ckpt backup s3://lake/checkpoints/orders --to s3://lake/backups/orders --tag before-4.3",
    names=Names(several="in turn", of_one=("--to",)),
)
@click.argument("location", shell_complete=directories)
@option(
    "--to ROOT",
    "Directory in which the backups are kept, one directory for each.",
    "root",
    shell_complete=directories,
    required=True,
)
@option("--full", "Copy every file. By default files of earlier backups are referenced.")
@option(
    "--quick",
    "Copy state files without reading them; inside S3 the server then copies them. ckpt verify judges them later.",
)
@option("--tag NAME", "Tag for ckpt prune --keep-tag. Can be given more than once.", "tags", multiple=True)
@option("--message TEXT", "Reason for the backup, shown by ckpt backups. By default empty.", default="")
@option(
    "--commit-wait DURATION",
    "How long to wait for the commit of the running batch, when no committed batch can be backed up; a plain number is "
    "seconds.",
    "commit_wait_ms",
    type=DURATION,
    default=f"{COMMIT_WAIT_S:g}s",
)
@option("--dry-run", "Take no backup. Print what a full one would copy, and what it would leave out and why.")
@shared
def backup(
    location: str,
    root: str,
    full: bool,
    quick: bool,
    tags: tuple[str, ...],
    message: str,
    commit_wait_ms: int,
    dry_run: bool,
    storage_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Back up all files that a restart of the query needs. Safe while the query runs.

    The restart is after the newest committed batch. Several names of the query file are backed up in turn, and without
    any all its queries.
    """
    checkpoint = open_store(location, storage_options)
    if dry_run:
        plan = plan_of_backup(checkpoint, open_store(root, storage_options))
        if as_json:
            print_json(_dry_document(plan))
        else:
            print_tables(backup_plan_tables(plan))
        return
    with progress_bar("copying") as on_step:
        place = open_store(root, storage_options)
        taken = take_backup(
            checkpoint,
            place,
            full=full,
            quick=quick,
            tags=tags,
            message=message,
            commit_wait_s=commit_wait_ms / 1000,
            on_step=on_step,
        )
    has_done(f"Backup {taken.backup_id} of batch {taken.batch_id} was taken.")
    if as_json:
        document: BackupDocument = {"format_version": FORMAT_VERSION, **taken.summary()}
        print_json(document)
        return
    say(
        f"Backup {taken.backup_id} of batch {taken.batch_id}: "
        f"{len(taken.objects)} objects, {size(taken.own_bytes)} copied, {size(taken.reused_bytes)} reused."
    )
    for sentence in sentences_on_unknown(taken):
        say(sentence, colour="yellow" if taken.unknown_changed or taken.not_judged else None)


def _dry_document(plan: BackupPlan) -> BackupPlanDocument:
    return {
        "format_version": FORMAT_VERSION,
        "location": plan.view.location,
        "batch_id": plan.chosen.batch_id,
        "objects": list(plan.names),
        "unknown": list(plan.beside.unknown),
        "not_judged": list(plan.chosen.unknown),
        "left_out": plan.beside.counted,
    }


@command(
    "ckpt backups s3://lake/backups/orders",
    "ckpt backups s3://lake/backups/orders --json",
    names=Names(several="in turn", is_backups=True),
)
@click.argument("root", shell_complete=directories)
@allowing_no_backup
@shared
def backups(root: str, allow_empty: bool, storage_options: tuple[str, ...], as_json: bool) -> None:
    """List the backups under a root, oldest first.

    Backups whose manifest cannot be read are named on stderr. Exit code 3 when there is no backup. Several names of the
    query file are listed in turn, and without any all its queries.
    """
    store = open_store(root, storage_options)
    listing = survey_backups(store)
    if not listing.backups and not listing.unreadable and not allow_empty:
        raise nothing_found(store, "there is no backup under this root.")
    for error in listing.unreadable.values():
        print_error(error, as_json=False)
    if as_json:
        document: BackupsDocument = {
            "format_version": FORMAT_VERSION,
            "backups": [item.summary() for item in listing.backups],
            "unreadable": [{"backup_id": name, **error.to_dict()} for name, error in listing.unreadable.items()],
        }
        print_json(document)
    else:
        print_tables([backups_table(root, listing)])


@command(
    "ckpt verify s3://lake/backups/orders latest",
    "ckpt verify s3://lake/backups/orders latest --rehearse",
    names=Names(several="in turn", is_backups=True, of_one=("--query-id", "--scratch")),
)
@click.argument("root", shell_complete=directories)
@click.argument("backup_id", default=LATEST)
@option(
    "--query-id ID",
    "Use the latest backup of this query, or check that the backup of BACKUP_ID is of this query. Needed without "
    "BACKUP_ID where the root has backups of several queries.",
)
@option("--rehearse", "Also restore the backup to a scratch directory and let Spark open it there.")
@option("--scratch URI", "Directory for --rehearse. By default a temporary directory of this host.")
@option(
    "--spark-conf KEY=VALUE",
    "Conf of the Spark that --rehearse starts. Can be given more than once.",
    "confs",
    multiple=True,
)
@shared
def verify(
    root: str,
    backup_id: str,
    query_id: str | None,
    rehearse: bool,
    scratch: str | None,
    confs: tuple[str, ...],
    storage_options: tuple[str, ...],
    as_json: bool,
) -> int:
    """Read a backup and verify that Spark can restart from it.

    It compares sizes and hashes, and runs every rule. BACKUP_ID is the id or its first characters; by default the
    latest backup is verified, of several names of the query file that of each, and without any of all its queries. Exit
    code 1 when a rule finds an error, and 3 when an object of the backup is missing or differs from what was backed up.
    """
    store = open_store(root, storage_options)
    found = find_backup(store, backup_id, query_id)
    with progress_bar("verifying") as on_step:
        findings = verify_backup(store, found, on_step=on_step)
    rehearsal = None
    if rehearse:
        place = open_store(scratch, storage_options) if scratch else None
        rehearsal = rehearse_module.rehearse(store, found, scratch=place, confs=dict(pairs(confs, "--spark-conf")))
    warnings = date_warnings(found, now_ms())
    if as_json:
        document: VerifyDocument = {
            "format_version": FORMAT_VERSION,
            **found.summary(),
            "verified": True,
            "warnings": list(warnings),
            "findings": [finding.to_dict() for finding in findings],
            "rehearsal": rehearsal.to_dict() if rehearsal else None,
        }
        print_json(document)
    else:
        if findings:
            print_tables([findings_table(findings)])
        say(f"Backup {found.backup_id}: {len(found.objects)} objects are unchanged since the backup.", colour="green")
        for text in sentences_on_unknown(found):
            say(text)
        for text in warnings:
            say(text, colour="yellow")
        if rehearsal:
            print_tables([rehearsal_table(rehearsal)])
    return int(any(finding.severity == "error" for finding in findings))


@command(
    "ckpt restore s3://lake/backups/orders latest --to s3://lake/checkpoints/orders-2 --sink kafka",
    "ckpt restore s3://lake/backups/orders latest --to s3://lake/checkpoints/orders-2 --plan-out restore.json",
    names=Names(is_backups=True, checkpoint_option="--to"),
)
@click.argument("root", shell_complete=directories)
@click.argument("backup_id", required=False)
@option(
    "--to LOC",
    "Checkpoint location to write to. It must be new or empty.",
    "location",
    shell_complete=directories,
    required=True,
)
@options_of(RestoreRequest, after={"wait_for_batch": (planning,)})
@accepting
@executing
@shared
def restore(
    root: str,
    backup_id: str | None,
    location: str,
    plan_file: str | None,
    plan_out: str | None,
    approved_by: str | None,
    accept_sink: tuple[str, ...],
    execute: bool,
    storage_options: tuple[str, ...],
    as_json: bool,
    **values: Any,
) -> None:
    """Restore a backup to a new or empty location.

    BACKUP_ID is the id or its first characters; by default the latest backup is restored.
    """
    require_consistent(plan_out, approved_by, execute=execute)
    source, target = open_store(root, storage_options), open_store(location, storage_options)
    if plan_file:
        require_alone("--plan", given({"backup_id": backup_id, **values}, beside_plan(RestoreRequest)))
    asked: RestoreRequest = asked_of(RestoreRequest, values)
    if asked.fence and not execute:
        raise click.UsageError("--fence acts when the backup is restored, so add --execute")
    if plan_file:
        plan = read_plan(plan_file, "restore")
        require_own_place(plan, Stores(target))
        require_declared(plan)
        opened = open_sinks(plan.declared_sinks, opening(storage_options))
    else:
        opened = open_sinks(asked.sinks, opening(storage_options))
        found = find_backup(source, LATEST if backup_id is None else backup_id, asked.query_id)
        new_id = fork_id(found, target) if asked.new_query_id else None
        rules, trigger = asked.rewrite_paths, asked.trigger
        plan = make_restore(source, found, target, new_id, path_rules=rules, sinks=opened, trigger=trigger)
    if plan_out:
        plan = with_declarations(plan)
        write_plan(plan_out, plan, (source, target, *(store for _, store in opened)))
    receipt = None
    if execute:
        own: dict[str, Any] = {"by": user_and_host(), "wait_s": asked.wait_for_batch, "tell": tell_user}
        held = behind_fence_of_origin(source, plan, opening(storage_options), **own) if asked.fence else nullcontext()
        with held, progress_bar("restoring") as on_step:
            receipt = restore_module.restore(
                plan,
                source,
                target,
                by=user_and_host(),
                on_step=on_step,
                accept_sink=accept_sink,
                approved_by=approved_by or "",
                sinks=opened,
            )
    report_change(plan, receipt, as_json=as_json, plan_out=plan_out)
