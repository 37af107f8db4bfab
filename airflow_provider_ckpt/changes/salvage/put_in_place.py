"""The executor of salvages: what comes is staged and verified before the first step."""

from __future__ import annotations

from shlex import quote

from airflow_provider_ckpt.change.executor import InPlace
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.changes.salvage.make import make_salvage_again


class Executor(InPlace):
    """Makes the newest batch that can be saved of a checkpoint."""

    def plan_again(self) -> Plan:
        """The salvage that would be planned now."""
        return make_salvage_again(self.plan, self.stores)

    @property
    def ways_out(self) -> str:
        """What was there before comes back, or the plan is made anew."""
        place = quote(self.plan.location)
        return (
            f"run `{self.stores.undo_command}` to put everything back as it was, or `ckpt salvage {place}` to salvage "
            "what is there now"
        )
