"""Backups before a deploy, in the root that the query file says of each query. Safe while the queries run."""

from __future__ import annotations

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.guard import Tell, silent
from airflow_provider_ckpt.running.find_unit import Unit


def back_up(unit: Unit, *, tell: Tell = silent) -> None:
    """Back up each query of an application that has a checkpoint, and of which the file says where backups are.

    Args:
        unit: The application.
        tell: Told of each backup that was taken.

    Raises:
        CheckpointError: One cannot be taken.
    """
    for member in unit.members:
        if member.query.backups is not None and member.checkpoint.exists():
            taken = take_backup(member.checkpoint, unit.opener(member.query.backups), message="before a deploy")
            tell(f"Backup {taken.backup_id} of batch {taken.batch_id} of {member.query.name} was taken.")


def backup_steps(unit: Unit) -> tuple[str, ...]:
    """What :func:`back_up` would do, a sentence for each query."""
    return tuple(
        f"Back up {member.query.name} in {member.query.backups}."
        for member in unit.members
        if member.query.backups is not None and member.checkpoint.exists()
    )
