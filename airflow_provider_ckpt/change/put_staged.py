"""What the executors of plans have in common that put objects in their place: each is in the record before any step.

Neither what a step removes nor the end of the backup that they come from takes one of them away then.
"""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_ckpt.change import stage
from airflow_provider_ckpt.change.actions import Copy
from airflow_provider_ckpt.change.executor import InPlace, Tick
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.storage.access import Attributes
from airflow_provider_ckpt.storage.store import Store


class PutStaged(InPlace):
    """Stages and verifies what comes, and clears it away at the end."""

    def lay_ready(self, copies: Sequence[Copy], tick: Tick, *, resuming: bool) -> None:
        """Copy what comes into the record."""
        stage.stage(copies, self.plan, self.stores, self.record, tick, self.mine, resuming=resuming)

    def source_of(self, copy: Copy) -> tuple[Store, str]:
        """What was staged."""
        return self.record.child(journal.STAGED_OBJECTS), copy.name

    def attributes_of(self, copy: Copy) -> Attributes | None:
        """What the plan removes and puts back has what it had."""
        if copy.source and not self.plan.rules.moves_own:
            return None
        saved = stage.saved_objects(self.record).get((copy.place, copy.source or copy.name))
        return None if saved is None else saved.attributes

    def judge_outcome(self) -> None:
        """Each object was verified when it came."""

    def finish(self, by: str, at_ms: int) -> None:
        """No second copy is kept of what is in its place now."""
        if any(isinstance(action, Copy) for action in self.plan.actions):
            self.mine()
            journal.clear(self.record, journal.STAGED_OBJECTS)
