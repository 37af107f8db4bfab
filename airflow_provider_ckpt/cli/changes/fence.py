"""The command that stops a query which cannot be reached: fence."""

from __future__ import annotations

import click

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.fence.make import FenceRequest, make_fence
from airflow_provider_ckpt.changes.fence.put_fence import put_fence
from airflow_provider_ckpt.cli.changes.asking import options_of
from airflow_provider_ckpt.cli.changes.change_output import report_change
from airflow_provider_ckpt.cli.changes.in_place import tell_user
from airflow_provider_ckpt.cli.options import (
    DURATIONS,
    breaking_lock,
    command,
    directories,
    executing,
    opening,
    shared,
    user_and_host,
)

_UNDO_TO = click.option(
    "--undo-to",
    "undo_root",
    metavar="ROOT",
    shell_complete=directories,
    help="Directory in which the records of changes are kept. By default _ckpt_undo beside the checkpoint.",
)


@command(
    "ckpt fence s3://lake/checkpoints/orders",
    "ckpt fence s3://lake/checkpoints/orders --execute --wait-for-batch 10m",
    also=DURATIONS,
)
@click.argument("location", shell_complete=directories)
@options_of(FenceRequest, after={"wait_for_batch": (_UNDO_TO, breaking_lock)})
@executing
@shared
def fence(
    location: str,
    wait_for_batch: float,
    undo_root: str | None,
    trigger: str | None,
    storage_options: tuple[str, ...],
    *,
    break_lock: bool,
    execute: bool,
    as_json: bool,
) -> None:
    """Stop a query that cannot be reached, at its next batch. It is Spark's own rule that stops it.

    ckpt creates the offset entry of its next batch first, as an empty batch: the query stops with
    CONCURRENT_STREAM_LOG_UPDATE, and its next start continues after that batch. ckpt undo takes it back.
    """
    stores = Stores.of(location, opening(storage_options), undo=undo_root)
    if not execute:
        report_change(make_fence(stores, trigger=trigger), None, as_json=as_json)
        return
    plan, receipt = put_fence(
        stores,
        by=user_and_host(),
        trigger=trigger,
        wait_s=wait_for_batch,
        break_lock=break_lock,
        tell=tell_user,
    )
    report_change(plan, receipt, as_json=as_json)
