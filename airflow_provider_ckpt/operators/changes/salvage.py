"""The operator that saves what can be saved of a damaged checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_provider_ckpt.change.kinds import Kind
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.changes.salvage.make import make_salvage
from airflow_provider_ckpt.operators.changes.in_place import CheckpointChangeOperator, CheckpointTrimmingOperator


class CheckpointSalvageOperator(CheckpointTrimmingOperator):
    """Saves the newest batch that can be saved of a torn or damaged checkpoint, in place, as ``ckpt salvage`` does.

    The plan in the log says what is given up, and why. ``ckpt undo`` takes it back. After an interruption a second run
    completes it. A checkpoint that needs nothing stays as it is.

    :param backup_root: Root of backups, where files that the checkpoint lacks are searched for.
    :param trigger: The trigger of the query as a deploy file says it.
    """

    kind: ClassVar[Kind] = "salvage"
    does = "salvage"
    has_done = "A salvage was carried out of"
    template_fields: Sequence[str] = (
        *CheckpointChangeOperator.template_fields,
        "backup_root",
        "trigger",
        "trim_sink_log",
    )

    def __init__(self, *, backup_root: str | None = None, trigger: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.backup_root = backup_root
        self.trigger = trigger

    def planned(self) -> tuple[Plan, Stores]:
        """A plan made now, or that of a salvage that was interrupted."""
        sink, trigger = self.declared_sink(), self.trigger or None
        stores = Stores.of(self.checkpoint, self.store, sink=sink, undo=self.undo_root, backups=self.backup_root)
        return make_salvage(stores, trim_sink_log=self.trims(), sink=sink, trigger=trigger), stores
