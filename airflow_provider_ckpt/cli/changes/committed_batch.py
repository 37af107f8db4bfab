"""Finds the committed batch of a position: by a number, a time, or the newest one."""

from __future__ import annotations

import click

from airflow_provider_ckpt.storage.store import Store


def committed_batch(checkpoint: Store, batch_id: int | None, at_ms: int | None) -> int | None:
    """The batch that ``--batch`` or ``--at`` names; None, for the newest one, without either.

    Raises:
        click.UsageError: Both are given.
        BatchNotRestorableError: Every batch in the logs began later.
    """
    from airflow_provider_ckpt.changes.rollback.goal import ToTimestamp
    from airflow_provider_ckpt.changes.rollback.resolve import resolve

    if batch_id is not None and at_ms is not None:
        raise click.UsageError("give --batch or --at, not both")
    return batch_id if at_ms is None else resolve(checkpoint, ToTimestamp(at_ms))
