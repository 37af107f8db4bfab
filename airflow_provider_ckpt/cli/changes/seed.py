"""The command that makes a new checkpoint at given positions: seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from airflow_provider_ckpt.change.open_sinks import open_sinks
from airflow_provider_ckpt.change.places import Stores, require_own_place
from airflow_provider_ckpt.changes.seed.make import Given, SeedRequest, make_seed, parse_positions, positions_of
from airflow_provider_ckpt.changes.seed.write import write_seed
from airflow_provider_ckpt.cli.changes.asking import asked_of, given, options_of
from airflow_provider_ckpt.cli.changes.change_output import report_change
from airflow_provider_ckpt.cli.changes.committed_batch import committed_batch
from airflow_provider_ckpt.cli.changes.plan_files import read_plan, require_alone, require_consistent, write_plan
from airflow_provider_ckpt.cli.options import (
    TIMES,
    accepting,
    command,
    directories,
    executing,
    open_store,
    opening,
    planning,
    shared,
    types_of,
    user_and_host,
)
from airflow_provider_ckpt.cli.render import progress_bar
from airflow_provider_ckpt.cli.sectioned import Names
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.bounded_json import parse_json


@command(
    "ckpt seed s3://lake/checkpoints/orders-2 --from s3://lake/checkpoints/orders --source 0=kafka --sink "
    "file:s3://lake/orders",
    """ckpt seed /data/checkpoints/new --source 0=kafka --offsets '{"0": {"orders": {"0": 500}}}' --sink kafka""",
    also=TIMES,
    names=Names(checkpoint_option="--from", needs_place=False),
)
@click.argument("location", shell_complete=directories)
@options_of(SeedRequest)
@planning
@accepting
@executing
@shared
def seed(
    location: str,
    plan_file: str | None,
    plan_out: str | None,
    approved_by: str | None,
    accept_sink: tuple[str, ...],
    execute: bool,
    storage_options: tuple[str, ...],
    as_json: bool,
    **values: Any,
) -> None:
    """Make a new checkpoint that starts at given positions.

    A stateless query starts from it. Its batch ids go on after those that the sink has seen. A query that starts
    with an empty checkpoint begins with batch 0 again, whose rows a used sink drops without an error.
    """
    require_consistent(plan_out, approved_by, execute=execute)
    target = open_store(location, storage_options)
    if plan_file:
        require_alone("--plan", given(values))
        plan = read_plan(plan_file, "seed")
        require_own_place(plan, Stores(target))
        opened = open_sinks(plan.declared_sinks, opening(storage_options))
    else:
        asked: SeedRequest = asked_of(SeedRequest, values)
        opened = open_sinks(asked.sinks, opening(storage_options))
        positions = _given(asked, opening(storage_options))
        plan = make_seed(target, positions, types_of(asked.sources), sinks=opened, after_batch=asked.after_batch or 0)
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


def _given(asked: SeedRequest, opener: Callable[[str], Store]) -> Given:
    """The positions that the options name. Raises click.UsageError."""
    if (not asked.origin) == (asked.offsets is None):
        raise click.UsageError("give the positions: either --from LOC or --offsets JSON")
    if asked.origin:
        origin = opener(asked.origin)
        return positions_of(origin, committed_batch(origin, asked.batch, asked.at))
    if asked.batch is not None or asked.at is not None:
        raise click.UsageError("--batch and --at go with --from")
    try:
        value = parse_json(str(asked.offsets))
    except ValueError as error:
        raise click.BadParameter(f"not JSON: {error}", param_hint="--offsets") from None
    try:
        return parse_positions(value)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--offsets") from None
