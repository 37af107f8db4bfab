"""Commands that change a checkpoint in place: rollback, undo."""

from __future__ import annotations

import click

from airflow_provider_ckpt.change.undo.make import UndoRequest
from airflow_provider_ckpt.changes.rollback.make import RollbackRequest
from airflow_provider_ckpt.cli.changes.asking import changing
from airflow_provider_ckpt.cli.changes.in_place import Change, acting
from airflow_provider_ckpt.cli.options import TIMES, command, directories, types_of


@command(
    "ckpt rollback s3://lake/checkpoints/orders --to-batch 41 --sink file:s3://lake/orders --trim-sink-log",
    "ckpt rollback s3://lake/checkpoints/orders --to-timestamp 'now-2h' --plan-out rollback.json",
    also=TIMES,
)
@click.argument("location", shell_complete=directories)
@changing(RollbackRequest, after={"wait_for_batch": (acting,)})
def rollback(change: Change, asked: RollbackRequest) -> None:
    """Drop every batch after the given one, in place. Removed files are kept for ckpt undo.

    Give exactly one --to option, or --plan.
    """
    types_of(asked.sources)
    change.make(asked)


@command(
    "ckpt undo s3://lake/checkpoints/orders",
    "ckpt undo s3://lake/checkpoints/orders --execute --i-know-it-is-stopped",
    also=TIMES,
)
@click.argument("location", shell_complete=directories)
@changing(UndoRequest, after={"downstream": (acting,)})
def undo(change: Change, asked: UndoRequest) -> None:
    """Undo the newest change, such as a rollback or a reset. Batches that the query has written since are dropped, and
    their files are kept.

    An undo cannot be undone: make the change again instead.
    """
    change.make(asked)
