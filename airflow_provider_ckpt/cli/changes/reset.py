"""The command that moves the positions of a source: reset-offsets."""

from __future__ import annotations

import click

from airflow_provider_ckpt.changes.reset.make import ResetRequest, export_positions
from airflow_provider_ckpt.cli.changes.asking import changing
from airflow_provider_ckpt.cli.changes.in_place import Change, acting
from airflow_provider_ckpt.cli.options import TIMES, command, directories, pairs, with_kafka_config
from airflow_provider_ckpt.sources.open_end import Access

_EXPORT = click.option("--export", "exported", is_flag=True, help="Print the new offsets as CSV, and change nothing.")


@command(
    "ckpt reset-offsets s3://lake/checkpoints/orders --source 0=kafka:broker:9092 --to-datetime 'now-2h' --sink kafka",
    "ckpt reset-offsets s3://lake/checkpoints/orders --source 0=kafka:broker:9092 --shift-by -1000 "
    "--topic orders:0,1 --plan-out reset.json",
    also=TIMES,
    name="reset-offsets",
)
@click.argument("location", shell_complete=directories)
@changing(ResetRequest, after={"topics": (_EXPORT, with_kafka_config)})
@acting
def reset_offsets(change: Change, asked: ResetRequest, exported: bool, kafka_config: tuple[str, ...]) -> None:
    """Move the positions of a source, in place. ckpt undo takes it back.

    Give --source and exactly one target (--to-…, --by-duration, --shift-by, --from-file or --skip-…), as with
    kafka-consumer-groups; or give --plan. An offset that its partition does not hold becomes the nearest one that it
    holds. A batch in flight is dropped first, and kept for ckpt undo.
    """
    stores = change.stores(asked)
    config = dict(pairs(kafka_config, "--kafka-config"))
    aimed = asked.aimed(Access(change.opener, stores.checkpoint, config, "--source "))
    if not exported:
        change.make(aimed)
        return
    if change.how.execute or change.how.plan_out or change.how.as_json:
        raise click.UsageError("--export only prints offsets, so leave out --execute, --plan-out and --json")
    click.echo(export_positions(stores, aimed.source_id, aimed.aim_there), nl=False)
