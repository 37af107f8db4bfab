"""The executor of changes of sources: what goes is saved, and what comes to another place is copied aside first."""

from __future__ import annotations

from airflow_provider_ckpt.change.executor import InPlace
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.changes.sources.make import make_source_change_again
from airflow_provider_ckpt.changes.sources.request import change_of_key
from airflow_provider_ckpt.codec import layout


class Executor(InPlace):
    """Closes the checkpoint, gives entries and directories to other sources, and opens it again."""

    def plan_again(self) -> Plan:
        """The same change."""
        return make_source_change_again(self.plan, self.stores)

    @property
    def ways_out(self) -> str:
        """What was there before comes back."""
        return f"run `{self.stores.undo_command}` to put back what was there before"

    def finish(self, by: str, at_ms: int) -> None:
        """No empty directory is kept of a source that is no more."""
        super().finish(by, at_ms)
        kept = {new for new, _ in change_of_key(self.plan.asked).continued}
        emptied = {name.split("/")[1] for name in self.plan.deletes() if name.startswith(f"{layout.SOURCES}/")}
        for source_id in sorted(emptied - kept):
            self.stores.checkpoint.remove_empty(f"{layout.SOURCES}/{source_id}")
