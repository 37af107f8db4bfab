"""The command that saves what can be saved of a damaged checkpoint: salvage."""

from __future__ import annotations

from typing import Any

import click

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.salvage.make import make_salvage_with_report
from airflow_provider_ckpt.cli.changes.in_place import acting, carry_out, read_own
from airflow_provider_ckpt.cli.changes.plan_files import require_alone, require_consistent
from airflow_provider_ckpt.cli.options import directories, examples, opening, triggered, with_sink
from airflow_provider_ckpt.query.sink import parse_sink


@click.command(
    epilog=examples(
        "ckpt salvage s3://lake/checkpoints/orders --sink kafka",
        "ckpt salvage s3://lake/checkpoints/orders --backup-root s3://lake/backups --plan-out salvage.json",
    )
)
@click.argument("location", shell_complete=directories)
@click.option(
    "--backup-root",
    "backup_root",
    shell_complete=directories,
    metavar="ROOT",
    help="Root of backups, where files that the checkpoint lacks are searched for.",
)
@with_sink
@click.option(
    "--trim-sink-log",
    is_flag=True,
    help="Also remove the batches that are given up from the file sink's log. Needs --sink file:URI.",
)
@acting
@triggered
def salvage(
    location: str,
    backup_root: str | None,
    sink: str | None,
    trim_sink_log: bool,
    trigger: str | None,
    undo_root: str | None,
    storage_options: tuple[str, ...],
    plan_file: str | None,
    **how: Any,
) -> None:
    """Save the newest batch that can be saved of a torn or damaged checkpoint, in place. ckpt undo takes it back.

    The plan says how: what is whole in its place, temporary files whose rename was lost, what other entries tell, and
    files of a backup. It says what is given up, and why.
    """
    require_consistent(how["plan_out"], how["approved_by"], execute=how["execute"])
    opener = opening(storage_options)
    if plan_file:
        require_alone(
            "--plan",
            {
                "--backup-root": backup_root,
                "--sink": sink,
                "--trim-sink-log": trim_sink_log or None,
                "--trigger": trigger,
            },
        )
        plan, stores = read_own(plan_file, "salvage", Stores.of(location, opener, undo=undo_root))
        carry_out(plan, stores, opener, more={"salvage": None}, **how)
        return
    if trim_sink_log and not sink:
        raise click.UsageError("--trim-sink-log needs --sink file:URI")
    declared = parse_sink(sink) if sink else None
    stores = Stores.of(location, opener, sink=declared, undo=undo_root, backups=backup_root)
    plan, report = make_salvage_with_report(stores, trim_sink_log=trim_sink_log, sink=declared, trigger=trigger)
    carry_out(plan, stores, opener, more={"salvage": report and report.to_dict()}, **how)
