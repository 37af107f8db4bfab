"""The executor of rollbacks: what goes is saved for an undo, what comes from a backup is staged and verified first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow_provider_ckpt.actions import Copy
from airflow_provider_ckpt.lifecycle import records, saving
from airflow_provider_ckpt.lifecycle.executing import InPlace, Tick
from airflow_provider_ckpt.store import Store


class RollingBack(InPlace):
    """Drops batches."""

    def lay_ready(self, copies: Sequence[Copy], tick: Tick, *, begun: bool) -> None:
        """Copy what comes from a backup into the record."""
        saving.stage(copies, self.plan, self.stores, self.record, tick, begun=begun)

    def source_of(self, copy: Copy) -> tuple[Store, str]:
        """What was staged."""
        return self.record.child(records.STAGED_OBJECTS), copy.name

    def finish(self, done: Mapping[str, Any]) -> None:
        """No third copy of what the backup has is kept."""
        if self.plan.source:
            records.clear(self.record, records.STAGED_OBJECTS)
