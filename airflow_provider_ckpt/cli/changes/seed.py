"""The command that makes a new checkpoint at given positions: seed."""

from __future__ import annotations

import click

from airflow_provider_ckpt.change.open_sinks import open_sinks, sinks_of
from airflow_provider_ckpt.change.places import Stores, require_own_place
from airflow_provider_ckpt.changes.seed.make import Given, make_seed, parse_positions, positions_of
from airflow_provider_ckpt.changes.seed.plan import MOST_BATCHES
from airflow_provider_ckpt.changes.seed.write import write_seed
from airflow_provider_ckpt.cli.changes.change_output import report_change
from airflow_provider_ckpt.cli.changes.committed_batch import committed_batch
from airflow_provider_ckpt.cli.changes.plan_files import read_plan, require_alone, require_consistent, write_plan
from airflow_provider_ckpt.cli.options import (
    TIME,
    TIMES,
    Whole,
    accepting,
    directories,
    examples,
    executing,
    open_store,
    opening,
    planning,
    shared,
    types_of,
    user_and_host,
    with_sources,
)
from airflow_provider_ckpt.cli.render import progress_bar
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.bounded_json import parse_json


@click.command(
    epilog=examples(
        "ckpt seed s3://lake/checkpoints/orders-2 --from s3://lake/checkpoints/orders --source 0=kafka --sink "
        "file:s3://lake/orders",
        """ckpt seed /data/checkpoints/new --source 0=kafka --offsets '{"0": {"orders": {"0": 500}}}' --sink kafka""",
        also=TIMES,
    )
)
@click.argument("location", shell_complete=directories)
@click.option(
    "--from",
    "origin",
    metavar="LOC",
    shell_complete=directories,
    help="Checkpoint whose positions the new one gets. It is only read.",
)
@click.option(
    "--batch",
    "batch_id",
    type=Whole(min=0),
    metavar="BATCH_ID",
    help="Positions after this committed batch of --from. By default the newest one.",
)
@click.option(
    "--at",
    "at_ms",
    type=TIME,
    metavar="TIME",
    help="Positions after the newest committed batch of --from that began by this time.",
)
@click.option(
    "--offsets",
    metavar="JSON",
    help='Positions by source id, such as {"0": {"topic": {"0": 5}}}; every partition of a topic.',
)
@with_sources(
    "Type of a source by its id: kafka, delta or iceberg. Needed for each source. Can be given more than once.",
    metavar="ID=TYPE",
)
@click.option(
    "--sink",
    "sinks",
    multiple=True,
    metavar="TYPE[:URI]",
    help="Sink of the query, such as file:/data/out; the checkpoint begins after the newest batch that it has seen. "
    "Can be given more than once.",
)
@click.option(
    "--after-batch",
    type=Whole(0, MOST_BATCHES),
    metavar="BATCH_ID",
    help="Begin after this batch or a later one, for a sink that ckpt cannot read. By default after the newest batch "
    "of --from.",
)
@planning
@accepting
@executing
@shared
def seed(
    location: str,
    origin: str | None,
    batch_id: int | None,
    at_ms: int | None,
    offsets: str | None,
    sources: dict[str, Source],
    sinks: tuple[str, ...],
    after_batch: int | None,
    plan_file: str | None,
    plan_out: str | None,
    approved_by: str | None,
    accept_sink: tuple[str, ...],
    execute: bool,
    storage_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Make a new checkpoint from which a stateless query starts at given positions.

    Its batch ids go on after those that the sink has seen. A query that starts with an empty checkpoint begins with
    batch 0 again, whose rows a used sink drops without an error.
    """
    require_consistent(plan_out, approved_by, execute=execute)
    target = open_store(location, storage_options)
    if plan_file:
        says = {"--from": origin, "--batch": batch_id, "--at": at_ms, "--offsets": offsets, "--source": sources}
        require_alone("--plan", {**says, "--sink": sinks, "--after-batch": after_batch})
        plan = read_plan(plan_file, "seed")
        require_own_place(plan, Stores(target))
        opened = open_sinks(sinks_of(plan), opening(storage_options))
    else:
        opened = open_sinks(map(parse_sink, sinks), opening(storage_options))
        given = _given(open_store(origin, storage_options) if origin else None, batch_id, at_ms, offsets)
        plan = make_seed(target, given, types_of(sources), sinks=opened, after_batch=after_batch or 0)
    if plan_out:
        write_plan(plan_out, plan, (target, *(store for _, store in opened)))
    receipt = None
    if execute:
        with progress_bar("seeding") as on_step:
            receipt = write_seed(
                plan,
                target,
                by=user_and_host(),
                on_step=on_step,
                accept_sink=accept_sink,
                approved_by=approved_by or "",
                sinks=opened,
            )
    report_change(plan, receipt, as_json=as_json, plan_out=plan_out)


def _given(origin: Store | None, batch_id: int | None, at_ms: int | None, offsets: str | None) -> Given:
    """The positions that the options name. Raises click.UsageError."""
    if (origin is None) == (offsets is None):
        raise click.UsageError("give the positions: either --from LOC or --offsets JSON")
    if origin is None and (batch_id is not None or at_ms is not None):
        raise click.UsageError("--batch and --at go with --from")
    if origin is not None:
        return positions_of(origin, committed_batch(origin, batch_id, at_ms))
    try:
        value = parse_json(offsets or "")
    except ValueError as error:
        raise click.BadParameter(f"not JSON: {error}", param_hint="--offsets") from None
    try:
        return parse_positions(value)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--offsets") from None
