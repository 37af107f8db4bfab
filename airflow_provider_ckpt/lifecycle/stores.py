"""The places that a plan works on."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.lifecycle import records
from airflow_provider_ckpt.store import Store


@dataclass(frozen=True, slots=True)
class Stores:
    """The places that a plan works on.

    Args:
        checkpoint: What is changed.
        sink: The sink: the output directory of a file sink, or a table.
        undo: Root of the records; None for the directory beside the checkpoint.
        backups: Root of backups, for the files of a batch that was purged.
    """

    checkpoint: Store
    sink: Store | None = None
    undo: Store | None = None
    backups: Store | None = None

    def place(self, name: str) -> Store:
        """The store that an action works on."""
        store = self.sink if name == "sink" else self.checkpoint
        if store is None:
            raise PlanError("the plan trims a sink log, and no sink was given")
        return store

    def record(self, plan_id: str) -> Store:
        """Where the record of one plan is."""
        return records.record_of(self.checkpoint, plan_id, self.undo)
