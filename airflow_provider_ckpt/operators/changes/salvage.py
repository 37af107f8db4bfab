"""The operator that saves what can be saved of a damaged checkpoint."""

from __future__ import annotations

from typing import Any

from airflow_provider_ckpt.changes.salvage.make import SalvageRequest
from airflow_provider_ckpt.operators.changes.in_place import CheckpointTrimmingOperator


class CheckpointSalvageOperator(CheckpointTrimmingOperator):
    """Saves the newest batch that can be saved of a torn or damaged checkpoint, in place, as ``ckpt salvage`` does.

    The plan in the log says what is given up, and why. ``ckpt undo`` takes it back. After an interruption a second run
    completes it. A checkpoint that needs nothing stays as it is.

    :param backup_root: Root of backups, where files that the checkpoint lacks are searched for.
    :param trigger: The trigger of the query as a deploy file says it.
    """

    request = SalvageRequest
    does = "salvage"
    has_done = "A salvage was carried out of"

    def __init__(self, *, backup_root: str | None = None, trigger: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.backup_root = backup_root
        self.trigger = trigger
