"""The executor of rollbacks: what goes is saved for an undo, what comes from a backup is staged and verified first."""

from __future__ import annotations

from shlex import quote

from airflow_provider_ckpt.change.executor import InPlace
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.changes.rollback.make import make_rollback_again


class Executor(InPlace):
    """Drops batches."""

    def plan_again(self) -> Plan:
        """The rollback to the same batch, or to the same backup."""
        return make_rollback_again(self.plan, self.stores)

    @property
    def ways_out(self) -> str:
        """What was there before comes back, or only what the query has written goes."""
        place, batch_id = quote(self.plan.location), self.plan.batch_id
        return (
            f"run `{self.stores.undo_command}` to put the removed files back, or "
            f"`ckpt rollback {place} --to-batch {batch_id}` to drop what the query has written"
        )
