"""The executor of salvages: what comes is staged and verified before the first step."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_ckpt.change import journal, stage
from airflow_provider_ckpt.change.actions import Copy
from airflow_provider_ckpt.change.executor import InPlace, Tick
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.salvage.make import make_salvage_again
from airflow_provider_ckpt.storage.store import Store


class Executor(InPlace):
    """Makes the newest batch that can be saved of a checkpoint."""

    def plan_again(self) -> Plan:
        """The salvage that would be planned now."""
        return make_salvage_again(self.plan, self.stores)

    def lay_ready(self, copies: Sequence[Copy], tick: Tick, *, resuming: bool) -> None:
        """Copy what comes from temporary files and from a backup into the record."""
        stage.stage(copies, self.plan, self.stores, self.record, tick, self.mine, resuming=resuming)

    def source_of(self, copy: Copy) -> tuple[Store, str]:
        """What was staged."""
        return self.record.child(journal.STAGED_OBJECTS), copy.name

    @property
    def ways_out(self) -> str:
        """What was there before comes back, or the plan is made anew."""
        location = self.plan.location
        return (
            f"run 'ckpt undo {location}' to put everything back as it was, or 'ckpt salvage {location}' to salvage "
            "what is there now"
        )

    def judge_outcome(self) -> None:
        """Each object was verified when it came."""

    def finish(self, by: str, at_ms: int) -> None:
        """No second copy of what has come is kept."""
        if any(isinstance(action, Copy) for action in self.plan.actions):
            self.mine()
            journal.clear(self.record, journal.STAGED_OBJECTS)
