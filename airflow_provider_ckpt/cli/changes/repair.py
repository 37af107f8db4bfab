"""The command that completes the log of a file sink: repair."""

from __future__ import annotations

from typing import Any

import click

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.repair.decision import parse_decisions
from airflow_provider_ckpt.changes.repair.make import make_repair
from airflow_provider_ckpt.cli.changes.in_place import acting, carry_out, read_own
from airflow_provider_ckpt.cli.changes.plan_files import require_alone, require_consistent
from airflow_provider_ckpt.cli.options import Whole, directories, examples, opening
from airflow_provider_ckpt.query.sink import parse_sink


@click.command(
    epilog=examples(
        "ckpt repair s3://lake/checkpoints/orders --sink file:s3://lake/orders",
        "ckpt repair s3://lake/checkpoints/orders --sink file:s3://lake/orders --copy s3://copies/orders",
        "ckpt repair s3://lake/checkpoints/orders --sink file:s3://lake/orders --empty 4 --plan-out repair.json",
    )
)
@click.argument("location", shell_complete=directories)
@click.option("--sink", metavar="file:URI", help="File sink of the query, whose _spark_metadata is completed.")
@click.option(
    "--copy",
    "copy",
    shell_complete=directories,
    metavar="URI",
    help="Copy of the output directory or of its _spark_metadata, from which missing entries are taken.",
)
@click.option(
    "--adopt",
    "adopt",
    multiple=True,
    metavar="BATCH[=NAME]",
    help="Give this batch the data files that may be its own and that no entry names, or this one of them. Can be "
    "given more than once.",
)
@click.option(
    "--empty",
    "empty",
    multiple=True,
    metavar="BATCH",
    help="Give this batch an entry without files: readers do not get its rows. Can be given more than once.",
)
@click.option(
    "--compact-interval",
    "interval",
    type=Whole(min=1),
    metavar="BATCHES",
    help="What the query sets as spark.sql.streaming.fileSink.log.compactInterval. By default 10.",
)
@acting
def repair(
    location: str,
    sink: str | None,
    copy: str | None,
    adopt: tuple[str, ...],
    empty: tuple[str, ...],
    interval: int | None,
    undo_root: str | None,
    storage_options: tuple[str, ...],
    plan_file: str | None,
    **how: Any,
) -> None:
    """Complete the log of a file sink, _spark_metadata, in place. ckpt undo takes it back.

    A missing entry gets the data files that are proven to be those of its batch. Where that is not proven, the plan
    says so, or the batch has to be decided about with --adopt or --empty.
    """
    require_consistent(how["plan_out"], how["approved_by"], execute=how["execute"])
    opener = opening(storage_options)
    if plan_file:
        require_alone(
            "--plan",
            {"--sink": sink, "--copy": copy, "--adopt": adopt, "--empty": empty, "--compact-interval": interval},
        )
        carry_out(*read_own(plan_file, "repair", Stores.of(location, opener, undo=undo_root)), opener, **how)
        return
    if not sink:
        raise click.UsageError("give the sink whose log is to be completed: --sink file:URI; or --plan FILE")
    try:
        decisions = parse_decisions(adopt, empty, interval)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    declared = parse_sink(sink)
    stores = Stores.of(location, opener, sink=declared, undo=undo_root, backups=copy)
    carry_out(make_repair(stores, declared, decisions), stores, opener, **how)
