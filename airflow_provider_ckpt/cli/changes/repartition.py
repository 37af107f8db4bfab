"""The command that gives the state another number of partitions."""

from __future__ import annotations

import click

from airflow_provider_ckpt.changes.repartition.make import RepartitionRequest
from airflow_provider_ckpt.cli.changes.asking import changing
from airflow_provider_ckpt.cli.changes.in_place import Change, acting
from airflow_provider_ckpt.cli.options import DURATIONS, command, directories


@command(
    "ckpt repartition s3://lake/checkpoints/orders --partitions 64 --sink file:s3://lake/orders",
    "ckpt repartition s3://lake/checkpoints/orders --plan p.json --conf spark.driver.memory=8g --execute "
    "--i-know-it-is-stopped",
    also=DURATIONS,
)
@click.argument("location", shell_complete=directories)
@changing(RepartitionRequest)
@acting
def repartition(change: Change, asked: RepartitionRequest) -> None:
    """Give the state another number of partitions. ckpt undo takes it back.

    It is done through Spark itself (4.2 or later). Needs PySpark and Java where it is executed, and a query that is
    stopped. After an interruption, run the same command again to finish.
    """
    change.make(asked)
