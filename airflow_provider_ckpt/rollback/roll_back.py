"""The executor of rollbacks: what goes is saved for an undo, what comes from a backup is staged and verified first."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_ckpt.change import journal, stage
from airflow_provider_ckpt.change.actions import Copy
from airflow_provider_ckpt.change.executor import InPlace, Tick
from airflow_provider_ckpt.storage.store import Store


class RollingBack(InPlace):
    """Drops batches."""

    def lay_ready(self, copies: Sequence[Copy], tick: Tick, *, begun: bool) -> None:
        """Copy what comes from a backup into the record."""
        stage.stage(copies, self.plan, self.stores, self.record, tick, self.mine, begun=begun)

    def source_of(self, copy: Copy) -> tuple[Store, str]:
        """What was staged."""
        return self.record.child(journal.STAGED_OBJECTS), copy.name

    def finish(self, by: str, at_ms: int) -> None:
        """No third copy of what the backup has is kept."""
        if self.plan.source:
            self.mine()
            journal.clear(self.record, journal.STAGED_OBJECTS)
