"""Undo: its plan, made against what stands there now, and its executor."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_ckpt.change import journal, stage
from airflow_provider_ckpt.change.actions import Copy
from airflow_provider_ckpt.change.executor import InPlace, Mine, Tick
from airflow_provider_ckpt.change.facts import Place
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.rollback.undo_plan import Undo
from airflow_provider_ckpt.sinks.declared import read_file_sink
from airflow_provider_ckpt.storage.store import Store


class Undoing(InPlace):
    """Puts back what a change has removed."""

    def __init__(self, plan: Plan, stores: Stores, mine: Mine) -> None:
        super().__init__(plan, stores, mine)
        self._undone = stores.record(plan.undoes)

    def lay_ready(self, copies: Sequence[Copy], tick: Tick, *, begun: bool) -> None:
        """Read every saved object back: each must be what was saved, also when an earlier run has begun."""
        stage.verify_saved(copies, self._undone, tick)

    def source_of(self, copy: Copy) -> tuple[Store, str]:
        """What was saved."""
        return self._undone.child(journal.SAVED_OBJECTS), copy.source

    def finish(self, by: str, at_ms: int) -> None:
        """The change counts as undone."""
        journal.take_back(self._undone, self.plan.plan_id, by=by, at_ms=at_ms)


def plan_to_undo(done: journal.Record, stores: Stores) -> Undo:
    """Look at what a change has left and at what was written since. Raises PlanError when it cannot be undone."""
    plan, record = done.plan, stores.record(done.plan.plan_id)
    view = observe(stores.checkpoint, deep=True, batch_id=plan.batch_id)
    sink_log = read_file_sink(stores.place("sink")) if plan.sink else None

    def sha256_of(place: Place, name: str) -> str:
        return stores.place(place).sha256(name)[1]

    return Undo(plan, view, sink_log, stage.saved_objects(record), sha256_of)
