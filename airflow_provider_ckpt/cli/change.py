"""Commands that change a checkpoint in place: rollback, undo."""

from __future__ import annotations

import click

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.cli.options import executing, open_store, shared, stopping
from airflow_provider_ckpt.cli.render import progress_bar, report_change
from airflow_provider_ckpt.lifecycle import Stores
from airflow_provider_ckpt.plans import Plan
from airflow_provider_ckpt.sinks import parse_sink


@click.command()
@click.argument("location")
@click.option("--to-batch", "batch_id", required=True, type=click.IntRange(min=0), help="The last batch to keep.")
@click.option("--sink", metavar="KIND:URI", help="The sink of the query, such as file:/data/out.")
@click.option("--trim-sink-log", is_flag=True, help="Remove the dropped batches from the file sink's log as well.")
@stopping
@executing
@shared
def rollback(
    location: str,
    batch_id: int,
    sink: str | None,
    trim_sink_log: bool,
    query_is_stopped: bool,
    quiet_s: float | None,
    undo_root: str | None,
    execute: bool,
    storage_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Drop every batch after one, in place; what is removed is kept for undo."""
    if trim_sink_log and not sink:
        raise click.UsageError("--trim-sink-log needs --sink file:URI")
    stores = Stores(
        open_store(location, storage_options),
        open_store(parse_sink(sink), storage_options) if sink else None,
        open_store(undo_root, storage_options) if undo_root else None,
    )
    plan = lifecycle.make_rollback(stores, batch_id, trim_sink_log=trim_sink_log)
    _carry_out(plan, stores, execute, query_is_stopped, quiet_s, as_json)


@click.command()
@click.argument("location")
@click.option("--sink", metavar="KIND:URI", help="The sink, when its log was trimmed.")
@stopping
@executing
@shared
def undo(
    location: str,
    sink: str | None,
    query_is_stopped: bool,
    quiet_s: float | None,
    undo_root: str | None,
    execute: bool,
    storage_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Take back the newest rollback, as long as the query has not run since."""
    stores = Stores(
        open_store(location, storage_options),
        undo=open_store(undo_root, storage_options) if undo_root else None,
    )
    plan = lifecycle.make_undo(stores)
    where = parse_sink(sink) if sink else plan.sink
    if where:
        stores = Stores(stores.checkpoint, open_store(where, storage_options), stores.undo)
    _carry_out(plan, stores, execute, query_is_stopped, quiet_s, as_json)


def _carry_out(
    plan: Plan, stores: Stores, execute: bool, query_is_stopped: bool, quiet_s: float | None, as_json: bool
) -> None:
    receipt = None
    if execute:
        with progress_bar(plan.kind) as on_step:
            receipt = lifecycle.apply(plan, stores, query_is_stopped=query_is_stopped, quiet_s=quiet_s, on_step=on_step)
    report_change(plan, receipt, as_json=as_json)


COMMANDS = (rollback, undo)
