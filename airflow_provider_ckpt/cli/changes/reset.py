"""The command that moves the positions of a source: reset-offsets."""

from __future__ import annotations

import click

from airflow_provider_ckpt.changes.reset.make import export_positions
from airflow_provider_ckpt.changes.reset.make_asked import reset_asked
from airflow_provider_ckpt.changes.reset.request import ResetRequest
from airflow_provider_ckpt.cli.changes.asking import Change, changing
from airflow_provider_ckpt.cli.changes.in_place import acting
from airflow_provider_ckpt.cli.options import TIMES, command, directories, pairs, with_kafka_config
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.query.source import Source, require_asked
from airflow_provider_ckpt.sources.goal import Goal
from airflow_provider_ckpt.sources.kafka.strategies import Scope
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.resolve_goal import resolve_aim

_EXPORT = click.option("--export", "exported", is_flag=True, help="Print the new offsets as CSV, and change nothing.")


@command(
    "ckpt reset-offsets s3://lake/checkpoints/orders --source 0=kafka:broker:9092 --to-datetime 'now-2h' --sink kafka",
    "ckpt reset-offsets s3://lake/checkpoints/orders --source 0=kafka:broker:9092 --shift-by -1000 "
    "--topic orders:0,1 --plan-out reset.json",
    also=TIMES,
    name="reset-offsets",
)
@click.argument("location", shell_complete=directories)
@changing("reset", ResetRequest, after={"topics": (_EXPORT, with_kafka_config)})
@acting
def reset_offsets(change: Change, asked: ResetRequest, exported: bool, kafka_config: tuple[str, ...]) -> None:
    """Move the positions of a source, in place. ckpt undo takes it back.

    Give --source and exactly one target (--to-…, --by-duration, --shift-by, --from-file or --skip-…), as with
    kafka-consumer-groups; or give --plan. An offset that its partition does not hold becomes the nearest one that it
    holds. A batch in flight is dropped first, and kept for ckpt undo.
    """
    goal, source, scope = _goal(asked), _source(asked), _scope(asked)
    stores = change.stores(sink=asked.sink)
    access = Access(change.opener, stores.checkpoint, dict(pairs(kafka_config, "--kafka-config")), "--source ")
    aim = resolve_aim(source, goal, scope, access)
    if exported:
        if change.how["execute"] or change.how["plan_out"] or change.how["as_json"]:
            raise click.UsageError("--export only prints offsets, so leave out --execute, --plan-out and --json")
        click.echo(export_positions(stores, source.id or "", aim), nl=False)
        return
    plan, _ = change.behind(asked, reset_asked(asked, stores, aim), stores)
    change.carry_out(plan, stores)


def _goal(asked: ResetRequest) -> Goal:
    """Where to. Raises a usage error."""
    try:
        return asked.goal()
    except ValueError as error:
        option = "--to-offsets" if asked.to_offsets is not None else "--from-file"
        raise click.BadParameter(str(error), param_hint=option) from None


def _source(asked: ResetRequest) -> Source:
    """The source, with what it reads from. Raises a usage error."""
    if asked.source is None:
        raise click.UsageError("give --source ID=TYPE:PLACE, such as 0=kafka:host:9092, or --plan FILE")
    try:
        require_asked(asked.source)
    except CheckpointError as error:
        raise click.BadParameter(str(error), param_hint="--source") from None
    return asked.source


def _scope(asked: ResetRequest) -> Scope:
    """Partitions of the source to move. Raises a usage error."""
    try:
        return asked.scope()
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--topic") from None
