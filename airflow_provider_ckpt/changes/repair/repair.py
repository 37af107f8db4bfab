"""The executor of repairs: what goes of the sink's log is saved for an undo, and what comes is in the plan."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_ckpt.change.actions import Copy
from airflow_provider_ckpt.change.executor import InPlace, Tick
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.changes.repair.make import make_repair_again
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.storage.store import Store


class Executor(InPlace):
    """Writes the entries that the log of a file sink lacks."""

    def plan_again(self) -> Plan:
        """The repair with the same decisions."""
        return make_repair_again(self.plan, self.stores)

    def lay_ready(self, copies: Sequence[Copy], tick: Tick, *, resuming: bool) -> None:
        """Do nothing: the new content is in the plan."""

    def source_of(self, copy: Copy) -> tuple[Store, str]:
        """A repair copies nothing."""
        raise PlanError("a repair has no copies.", location=self.plan.location)

    @property
    def ways_out(self) -> str:
        """The log is completed from what is there then, or is as it was."""
        undo = self.stores.undo_command
        return f"run the same command again to complete the log, or `{undo}` to have it as it was"

    def judge_outcome(self) -> None:
        """Each entry has its content or it has not; each was verified."""

    def finish(self, by: str, at_ms: int) -> None:
        """Nothing is left to clear away."""
