"""Undo: its plan, made against what stands there now, and its executor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow_provider_ckpt.actions import Copy
from airflow_provider_ckpt.facts import Place
from airflow_provider_ckpt.lifecycle import records, saving
from airflow_provider_ckpt.lifecycle.executing import InPlace, Tick
from airflow_provider_ckpt.lifecycle.observing import observe
from airflow_provider_ckpt.lifecycle.stores import Stores
from airflow_provider_ckpt.plans import Plan
from airflow_provider_ckpt.sinks import read_file_sink
from airflow_provider_ckpt.store import Store
from airflow_provider_ckpt.undo import Undo


class Undoing(InPlace):
    """Puts back what a change has removed."""

    def __init__(self, plan: Plan, stores: Stores) -> None:
        super().__init__(plan, stores)
        self._undone = stores.record(plan.undoes)

    def lay_ready(self, copies: Sequence[Copy], tick: Tick, *, begun: bool) -> None:
        """Read every saved object back: each must be what was saved, also when an earlier run has begun."""
        saving.verify_saved(copies, self._undone, tick)

    def source_of(self, copy: Copy) -> tuple[Store, str]:
        """What was saved."""
        return self._undone.child(records.SAVED_OBJECTS), copy.source

    def finish(self, done: Mapping[str, Any]) -> None:
        """The change counts as undone."""
        records.note(self._undone, records.UNDONE, {"undone_by": self.plan.plan_id, **done})


def plan_to_undo(done: records.Record, stores: Stores) -> Undo:
    """Look at what a change has left and at what was written since. Raises PlanError when it cannot be undone."""
    plan, record = done.plan, stores.record(done.plan.plan_id)
    view = observe(stores.checkpoint, deep=True, batch_id=plan.batch_id)
    sink_log = read_file_sink(stores.place("sink")) if plan.sink else None

    def sha256_of(place: Place, name: str) -> str:
        return stores.place(place).sha256(name)[1]

    return Undo(plan, view, sink_log, saving.saved_objects(record), sha256_of)
