"""The executor of resets: what goes and what is replaced is saved for an undo, and nothing comes from anywhere else."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_ckpt.change.actions import Copy
from airflow_provider_ckpt.change.executor import InPlace, Tick
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.changes.reset.make import make_reset_again
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.storage.store import Store


class Executor(InPlace):
    """Drops the batch in flight, and gives the newest committed offset entry other offsets."""

    def plan_again(self) -> Plan:
        """The reset to the same offsets."""
        return make_reset_again(self.plan, self.stores)

    def lay_ready(self, copies: Sequence[Copy], tick: Tick, *, resuming: bool) -> None:
        """What comes is in the plan."""

    def source_of(self, copy: Copy) -> tuple[Store, str]:
        """A reset copies nothing."""
        raise PlanError("a reset has no copies.", location=self.plan.location)

    @property
    def ways_out(self) -> str:
        """What was there before comes back."""
        return f"run `{self.stores.undo_command}` to put back what was there before"

    def judge_outcome(self) -> None:
        """The entry has its content or it has not; each was verified."""

    def finish(self, by: str, at_ms: int) -> None:
        """Nothing is left to clear away."""
