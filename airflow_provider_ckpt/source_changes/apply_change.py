"""The executor of changes of sources: what goes is saved, and what comes to another place is copied aside first."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_ckpt.change import journal, stage
from airflow_provider_ckpt.change.actions import Copy
from airflow_provider_ckpt.change.executor import InPlace, Tick
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.source_changes.make import make_source_change_again
from airflow_provider_ckpt.source_changes.request import change_of_key
from airflow_provider_ckpt.storage.store import Store


class Executor(InPlace):
    """Closes the checkpoint, gives entries and directories to other sources, and opens it again."""

    def plan_again(self) -> Plan:
        """The same change."""
        return make_source_change_again(self.plan, self.stores)

    def lay_ready(self, copies: Sequence[Copy], tick: Tick, *, resuming: bool) -> None:
        """Copy what comes to another place into the record."""
        stage.stage(copies, self.plan, self.stores, self.record, tick, self.mine, resuming=resuming)

    def source_of(self, copy: Copy) -> tuple[Store, str]:
        """What was staged."""
        return self.record.child(journal.STAGED_OBJECTS), copy.name

    @property
    def ways_out(self) -> str:
        """What was there before comes back."""
        return f"run 'ckpt undo {self.plan.location}' to put back what was there before"

    def judge_outcome(self) -> None:
        """Each object was verified when it came."""

    def finish(self, by: str, at_ms: int) -> None:
        """No third copy is kept of what is in its place, and no empty directory of a source that is no more."""
        self.mine()
        journal.clear(self.record, journal.STAGED_OBJECTS)
        kept = {new for new, _ in change_of_key(self.plan.asked).continued}
        for source_id in sorted(
            {name.split("/")[1] for name in self.plan.deletes() if name.startswith("sources/")} - kept
        ):
            self.stores.checkpoint.remove_empty(f"{layout.SOURCES}/{source_id}")
