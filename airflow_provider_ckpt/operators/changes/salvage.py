"""The operator that saves what can be saved of a damaged checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.operators.changes.in_place import CheckpointTrimmingOperator

if TYPE_CHECKING:
    from airflow_provider_ckpt.change.make_plan import Planner


class CheckpointSalvageOperator(CheckpointTrimmingOperator):
    """Saves the newest batch that can be saved of a torn or damaged checkpoint, in place, as ``ckpt salvage`` does.

    The plan in the log says what is given up, and why. ``ckpt undo`` takes it back. After an interruption a second run
    completes it. A checkpoint that needs nothing stays as it is.

    :param backup_root: Root of backups, where files that the checkpoint lacks are searched for.
    :param trigger: The trigger of the query as the query file says it.
    :param downstream: Where checkpoints of other queries are searched for that have read what is dropped, beside those
        in the directory of this one: one location or several.
    """

    does = "salvage"
    has_done = "A salvage was carried out of"

    @classmethod
    def request(cls) -> type[Planner]:
        """What it asks for."""
        from airflow_provider_ckpt.changes.salvage.make import SalvageRequest

        return SalvageRequest

    def __init__(
        self,
        *,
        backup_root: str | None = None,
        trigger: str | None = None,
        downstream: str | Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.backup_root = backup_root
        self.trigger = trigger
        self.downstream = downstream
