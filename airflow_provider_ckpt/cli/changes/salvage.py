"""The command that saves what can be saved of a damaged checkpoint: salvage."""

from __future__ import annotations

import click

from airflow_provider_ckpt.changes.salvage.make import SalvageRequest
from airflow_provider_ckpt.cli.changes.asking import changing
from airflow_provider_ckpt.cli.changes.in_place import Change, acting
from airflow_provider_ckpt.cli.options import command, directories
from airflow_provider_ckpt.fleet.find_readers import with_readers


@command(
    "ckpt salvage s3://lake/checkpoints/orders --sink kafka",
    "ckpt salvage s3://lake/checkpoints/orders --backup-root s3://lake/backups --plan-out salvage.json",
)
@click.argument("location", shell_complete=directories)
@changing(SalvageRequest, after={"downstream": (acting,)}, more={"salvage": None})
def salvage(change: Change, asked: SalvageRequest) -> None:
    """Save what can be saved of a torn or damaged checkpoint. It is done in place, and ckpt undo takes it back.

    The plan says how: what is whole in its place, temporary files whose rename was lost, what other entries tell, and
    files of a backup. It says what is given up, and why.
    """
    stores = change.stores(asked)
    plan, report = asked.with_report(stores)
    plan = with_readers(plan, stores, asked.sink or plan.declared_sink, change.opener, asked.downstream)
    change.carry_out_new(plan, stores, more={"salvage": report and report.to_dict()})
