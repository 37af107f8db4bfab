"""The command that gives the state another number of partitions."""

from __future__ import annotations

from typing import Any

import click

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.repartition.make import make_repartition
from airflow_provider_ckpt.cli.changes.in_place import acting, carry_out, read_own
from airflow_provider_ckpt.cli.changes.plan_files import require_alone, require_consistent
from airflow_provider_ckpt.cli.options import Whole, directories, examples, opening, pairs
from airflow_provider_ckpt.query.sink import parse_sink


@click.command(
    epilog=examples(
        "ckpt repartition s3://lake/checkpoints/orders --partitions 64 --sink file:s3://lake/orders",
        "ckpt repartition s3://lake/checkpoints/orders --plan p.json --conf spark.driver.memory=8g --execute "
        "--i-know-it-is-stopped",
        also="A DURATION is 36h, 1h30m, ISO 8601 such as PT5M, or a number of seconds.",
    )
)
@click.argument("location", shell_complete=directories)
@click.option(
    "--partitions",
    type=Whole(min=1),
    metavar="PARTITIONS",
    help="How many partitions the state is to have. The next start of the query runs with that number.",
)
@click.option(
    "--conf",
    "confs",
    multiple=True,
    metavar="KEY=VALUE",
    help="Conf of the Spark session that repartitions, such as spark.master or what it needs to reach the checkpoint. "
    "Confs of the state are taken from the checkpoint. Can be given more than once.",
)
@click.option(
    "--sink",
    metavar="TYPE[:URI]",
    help="Sink of the query: file, delta, iceberg or hudi with its URI, or another type such as kafka. The log of a "
    "file sink gets an empty entry, without which the sink stops later.",
)
@acting
def repartition(
    location: str,
    partitions: int | None,
    confs: tuple[str, ...],
    sink: str | None,
    undo_root: str | None,
    storage_options: tuple[str, ...],
    plan_file: str | None,
    **how: Any,
) -> None:
    """Give the state another number of partitions, through Spark itself (4.2 or later). ckpt undo takes it back.

    Needs PySpark and Java where it is executed, and a query that is stopped. After an
    interruption, run the same command again to finish.
    """
    require_consistent(how["plan_out"], how["approved_by"], execute=how["execute"])
    opener, spark_confs = opening(storage_options), dict(pairs(confs, "--conf"))
    if plan_file:
        require_alone("--plan", {"--partitions": partitions, "--sink": sink})
        stores = Stores.of(location, opener, undo=undo_root, spark_confs=spark_confs)
        carry_out(*read_own(plan_file, "repartition", stores), opener, **how)
        return
    if partitions is None:
        raise click.UsageError("give --partitions N, or --plan FILE")
    declared = parse_sink(sink) if sink else None
    stores = Stores.of(location, opener, sink=declared, undo=undo_root, spark_confs=spark_confs)
    carry_out(make_repartition(stores, partitions, sink=declared), stores, opener, **how)
