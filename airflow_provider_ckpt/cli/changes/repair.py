"""The command that completes the log of a file sink: repair."""

from __future__ import annotations

import click

from airflow_provider_ckpt.changes.repair.make import RepairRequest
from airflow_provider_ckpt.cli.changes.asking import changing
from airflow_provider_ckpt.cli.changes.in_place import Change, acting
from airflow_provider_ckpt.cli.options import command, directories


@command(
    "ckpt repair s3://lake/checkpoints/orders --sink file:s3://lake/orders",
    "ckpt repair s3://lake/checkpoints/orders --sink file:s3://lake/orders --copy s3://copies/orders",
    "ckpt repair s3://lake/checkpoints/orders --sink file:s3://lake/orders --empty 4 --plan-out repair.json",
)
@click.argument("location", shell_complete=directories)
@changing(RepairRequest)
@acting
def repair(change: Change, asked: RepairRequest) -> None:
    """Complete the log of a file sink, _spark_metadata, in place. ckpt undo takes it back.

    A missing entry gets the data files that are proven to be those of its batch. Where that is not proven, the plan
    says so, or the batch has to be decided about with --adopt or --empty.
    """
    change.make(asked)
