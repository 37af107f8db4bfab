"""The operator that saves what can be saved of a damaged checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.kinds import Kind
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.salvage.make import make_salvage
from airflow_provider_ckpt.changes.salvage.request import SalvageRequest
from airflow_provider_ckpt.operators.changes.asked import asked_of, rendered_fields
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
    template_fields: Sequence[str] = rendered_fields(SalvageRequest, CheckpointChangeOperator.template_fields)

    def __init__(self, *, backup_root: str | None = None, trigger: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.backup_root = backup_root
        self.trigger = trigger

    def planned(self) -> tuple[Plan, Stores]:
        """A plan made now, or that of a salvage that was interrupted."""
        asked = asked_of(self, SalvageRequest)
        stores = Stores.of(self.checkpoint, self.store, sink=asked.sink, undo=self.undo_root, backups=asked.backup_root)
        plan = make_salvage(stores, trim_sink_log=asked.trim_sink_log, sink=asked.sink, trigger=asked.trigger)
        return plan, stores
