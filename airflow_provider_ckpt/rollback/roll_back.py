"""The executor of rollbacks: what goes is saved for an undo, what comes from a backup is staged and verified first."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_ckpt.change import journal, stage
from airflow_provider_ckpt.change.actions import Copy
from airflow_provider_ckpt.change.executor import InPlace, Tick
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.rollback.make import make_rollback_again
from airflow_provider_ckpt.storage.store import Store


class Executor(InPlace):
    """Drops batches."""

    def plan_again(self) -> Plan:
        """The rollback to the same batch, or to the same backup."""
        return make_rollback_again(self.plan, self.stores)

    def lay_ready(self, copies: Sequence[Copy], tick: Tick, *, resuming: bool) -> None:
        """Copy what comes from a backup into the record."""
        stage.stage(copies, self.plan, self.stores, self.record, tick, self.mine, resuming=resuming)

    def source_of(self, copy: Copy) -> tuple[Store, str]:
        """What was staged."""
        return self.record.child(journal.STAGED_OBJECTS), copy.name

    @property
    def ways_out(self) -> str:
        """What was there before comes back, or only what the query has written goes."""
        location, batch_id = self.plan.location, self.plan.batch_id
        return (
            f"run 'ckpt undo {location}' to put the removed files back, or 'ckpt rollback {location} --to-batch "
            f"{batch_id}' to drop what the query has written"
        )

    def judge_outcome(self) -> None:
        """Each object was verified when it came."""

    def finish(self, by: str, at_ms: int) -> None:
        """No third copy of what the backup has is kept."""
        if self.plan.source:
            self.mine()
            journal.clear(self.record, journal.STAGED_OBJECTS)
