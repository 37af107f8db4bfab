"""Commands about backups: backup, backups, verify, restore, and prune from its own module."""

from __future__ import annotations

import uuid

import click

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.cli.options import (
    DURATION,
    accepting,
    executing,
    open_store,
    pairs,
    planning,
    shared,
    user_and_host,
)
from airflow_provider_ckpt.cli.plan_files import read_plan, require_alone, require_not_executed, write_plan
from airflow_provider_ckpt.cli.prune import prune
from airflow_provider_ckpt.cli.render import (
    print_error,
    print_json,
    print_tables,
    progress_bar,
    report_change,
    say,
    size,
    when,
)
from airflow_provider_ckpt.cli.streams import has_done
from airflow_provider_ckpt.codec.manifest import Manifest
from airflow_provider_ckpt.lifecycle.backups import BackupPlan
from airflow_provider_ckpt.lifecycle.lookup import LATEST
from airflow_provider_ckpt.lifecycle.patience import COMMIT_WAIT_S
from airflow_provider_ckpt.moving import PathRule, parse_path_rule
from airflow_provider_ckpt.report import (
    backup_plan_tables,
    backups_table,
    findings_table,
    rehearsal_table,
    sentences_on_unknown,
)
from airflow_provider_ckpt.sinks import parse_sink


@click.command()
@click.argument("location")
@click.option("--to", "root", required=True, metavar="ROOT", help="Where backups live.")
@click.option("--full", is_flag=True, help="Copy everything, also what an earlier backup has; stands alone.")
@click.option("--tag", "tags", multiple=True, metavar="NAME", help="A name to keep the backup for; repeatable.")
@click.option("--message", default="", metavar="TEXT", help="Why it is taken, for those who look for a backup.")
@click.option(
    "--commit-wait",
    "commit_wait_ms",
    type=DURATION,
    default=f"PT{COMMIT_WAIT_S:g}S",
    metavar="DURATION",
    help="How long to wait for a running batch when the one before it cannot be backed up any more; a minute.",
)
@click.option("--dry-run", is_flag=True, help="Show what a full backup would copy, and what not and why.")
@shared
def backup(
    location: str,
    root: str,
    full: bool,
    tags: tuple[str, ...],
    message: str,
    commit_wait_ms: int,
    dry_run: bool,
    storage_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Copy what a restart after the newest committed batch needs; also right while the query runs."""
    checkpoint = open_store(location, storage_options)
    if dry_run:
        plan = lifecycle.plan_of_backup(checkpoint, open_store(root, storage_options))
        if as_json:
            print_json(_dry_document(plan))
        else:
            print_tables(backup_plan_tables(plan))
        return
    with progress_bar("copying") as on_step:
        place = open_store(root, storage_options)
        taken = lifecycle.take_backup(
            checkpoint,
            place,
            full=full,
            tags=tags,
            message=message,
            commit_wait_s=commit_wait_ms / 1000,
            on_step=on_step,
        )
    has_done(f"Backup {taken.backup_id} of batch {taken.batch_id} was taken.")
    if as_json:
        print_json(_backup_document(taken))
        return
    say(
        f"Backup {taken.backup_id} of batch {taken.batch_id}: "
        f"{len(taken.objects)} objects, {size(taken.own_bytes)} copied, {size(taken.reused_bytes)} reused."
    )
    for sentence in sentences_on_unknown(taken):
        say(sentence, colour="yellow" if taken.unknown_changed else None)


def _dry_document(plan: BackupPlan) -> dict[str, object]:
    return {
        "location": plan.view.location,
        "batch_id": plan.chosen.batch_id,
        "objects": list(plan.names),
        "unknown": list(plan.beside.unknown),
        "left_out": plan.beside.counted,
    }


def _backup_document(taken: Manifest) -> dict[str, object]:
    return {
        "backup_id": taken.backup_id,
        "location": taken.location,
        "query_id": taken.query_id,
        "batch_id": taken.batch_id,
        "created_at": when(taken.created_at_ms),
        "watermark_ms": taken.watermark_ms,
        "objects": len(taken.objects),
        "bytes_copied": taken.own_bytes,
        "bytes_reused": taken.reused_bytes,
        "tags": list(taken.tags),
        "message": taken.message,
        "unknown": list(taken.unknown),
        "unknown_changed": list(taken.unknown_changed),
    }


@click.command()
@click.argument("root")
@click.option("--allow-empty", is_flag=True, help="No backup at all is no error.")
@shared
def backups(root: str, allow_empty: bool, storage_options: tuple[str, ...], as_json: bool) -> None:
    """The backups under a root, oldest first.

    Those whose manifest cannot be read are named on stderr. Exit code 3 when there is no backup at all.
    """
    store = open_store(root, storage_options)
    listing = lifecycle.survey_backups(store)
    if not listing.backups and not listing.unreadable and not allow_empty:
        raise lifecycle.nothing_found(store, "there is no backup here.")
    for error in listing.unreadable.values():
        print_error(error, as_json=False)
    if as_json:
        unreadable = [{"backup_id": name, **error.to_dict()} for name, error in listing.unreadable.items()]
        print_json({"backups": [_backup_document(item) for item in listing.backups], "unreadable": unreadable})
    else:
        print_tables([backups_table(root, listing)])


@click.command()
@click.argument("root")
@click.argument("backup_id", default=LATEST)
@click.option("--rehearse", is_flag=True, help="Restore it to a scratch place, and let a real Spark open it there.")
@click.option("--scratch", metavar="URI", help="Where to rehearse; by default a temporary directory of this machine.")
@click.option(
    "--spark-conf", "confs", multiple=True, metavar="KEY=VALUE", help="For the rehearsal's Spark; can be given again."
)
@shared
def verify(
    root: str,
    backup_id: str,
    rehearse: bool,
    scratch: str | None,
    confs: tuple[str, ...],
    storage_options: tuple[str, ...],
    as_json: bool,
) -> int:
    """Read a backup back (its id or the beginning of it; the latest by default) and judge it.

    Sizes, hashes, whether a restart from it is possible, every rule.

    Exits with 1 when a rule finds an error, and with 3 when the backup is not what was backed up.
    """
    store = open_store(root, storage_options)
    found = lifecycle.find_backup(store, backup_id)
    with progress_bar("verifying") as on_step:
        findings = lifecycle.verify_backup(store, found, on_step=on_step)
    rehearsal = None
    if rehearse:
        place = open_store(scratch, storage_options) if scratch else None
        rehearsal = lifecycle.rehearse(store, found, scratch=place, confs=dict(pairs(confs, "--spark-conf")))
    if as_json:
        document = {"verified": True, "findings": [finding.to_dict() for finding in findings]}
        print_json({**_backup_document(found), **document, "rehearsal": rehearsal and rehearsal.to_dict()})
    else:
        if findings:
            print_tables([findings_table(findings)])
        say(f"Backup {found.backup_id}: {len(found.objects)} objects are what was backed up.", colour="green")
        for text in sentences_on_unknown(found):
            say(text)
        if rehearsal:
            print_tables([rehearsal_table(rehearsal)])
    return int(any(finding.severity == "error" for finding in findings))


@click.command()
@click.argument("root")
@click.argument("backup_id", required=False)
@click.option("--to", "location", required=True, metavar="LOC", help="A new or empty location.")
@click.option("--new-query-id", is_flag=True, help="Give the restored query an id of its own (a fork).")
@click.option(
    "--rewrite-paths",
    "rewrite_paths",
    multiple=True,
    metavar="FROM=TO",
    help="Absolute paths of input files, in the logs of file sources, that have moved; can be given again.",
)
@click.option(
    "--sink",
    "sinks",
    multiple=True,
    metavar="KIND:URI",
    help="A sink of the query, such as file:/data/out or delta:s3://lake/orders, for the verdict; can be given again.",
)
@planning
@accepting
@executing
@shared
def restore(
    root: str,
    backup_id: str | None,
    location: str,
    new_query_id: bool,
    rewrite_paths: tuple[str, ...],
    sinks: tuple[str, ...],
    plan_file: str | None,
    plan_out: str | None,
    accept_sink: tuple[str, ...],
    execute: bool,
    storage_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write a backup (its id or the beginning of it; the latest by default) to a new or empty location."""
    require_not_executed(plan_out, execute=execute)
    source, target = open_store(root, storage_options), open_store(location, storage_options)
    if plan_file:
        says = {"BACKUP_ID": backup_id, "--new-query-id": new_query_id or None}
        require_alone("--plan", {**says, "--rewrite-paths": rewrite_paths, "--sink": sinks})
        plan = read_plan(plan_file, "restore")
        declared = lifecycle.sinks_of(plan)
    else:
        declared = tuple(map(parse_sink, sinks))
    opened = [(sink, open_store(sink.directory, storage_options) if sink.directory else None) for sink in declared]
    if not plan_file:
        found = lifecycle.find_backup(source, backup_id or LATEST)
        fork_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{found.backup_id} {target.location}")) if new_query_id else None
        rules = _path_rules(rewrite_paths)
        plan = lifecycle.make_restore(source, found, target, fork_id, path_rules=rules, sinks=opened)
    if plan_out:
        write_plan(plan_out, plan, (source, target, *(store for _, store in opened)))
    receipt = None
    if execute:
        with progress_bar("restoring") as on_step:
            receipt = lifecycle.restore(
                plan,
                source,
                target,
                by=user_and_host(),
                on_step=on_step,
                accept_sink=accept_sink,
                sinks=opened,
            )
    report_change(plan, receipt, as_json=as_json, plan_out=plan_out)


def _path_rules(texts: tuple[str, ...]) -> list[PathRule]:
    try:
        return [parse_path_rule(text) for text in texts]
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--rewrite-paths") from None


COMMANDS = (backup, backups, verify, restore, prune)
