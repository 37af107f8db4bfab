"""The command that gives the state another number of partitions."""

from __future__ import annotations

import click

from airflow_provider_ckpt.changes.repartition.make import make_repartition
from airflow_provider_ckpt.changes.repartition.request import RepartitionRequest
from airflow_provider_ckpt.cli.changes.asking import Change, changing
from airflow_provider_ckpt.cli.changes.in_place import acting
from airflow_provider_ckpt.cli.options import DURATIONS, command, directories


@command(
    "ckpt repartition s3://lake/checkpoints/orders --partitions 64 --sink file:s3://lake/orders",
    "ckpt repartition s3://lake/checkpoints/orders --plan p.json --conf spark.driver.memory=8g --execute "
    "--i-know-it-is-stopped",
    also=DURATIONS,
)
@click.argument("location", shell_complete=directories)
@changing("repartition", RepartitionRequest, places=lambda asked: {"spark_confs": asked.confs})
@acting
def repartition(change: Change, asked: RepartitionRequest) -> None:
    """Give the state another number of partitions, through Spark itself (4.2 or later). ckpt undo takes it back.

    Needs PySpark and Java where it is executed, and a query that is stopped. After an
    interruption, run the same command again to finish.
    """
    if asked.partitions is None:
        raise click.UsageError("give --partitions N, or --plan FILE")
    stores = change.stores(sink=asked.sink, spark_confs=asked.confs)
    change.carry_out(make_repartition(stores, asked.partitions, sink=asked.sink), stores)
