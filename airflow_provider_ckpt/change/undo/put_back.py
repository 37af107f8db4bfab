"""The executor of undos: what a change has removed comes back, each object as it was saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property

from airflow_provider_ckpt.change import stage
from airflow_provider_ckpt.change.executor import InPlace, Mine, Tick
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.actions import Copy, Delete, Replace
from airflow_provider_ckpt.change.plan.facts import Saved, Spot
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.change.undo.make import UndoRequest
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import CheckpointNotFoundError
from airflow_provider_ckpt.storage.access import Attributes
from airflow_provider_ckpt.storage.store import Store


class Executor(InPlace):
    """Puts back what a change has removed."""

    planner = UndoRequest

    def __init__(self, plan: Plan, stores: Stores, mine: Mine) -> None:
        super().__init__(plan, stores, mine)
        self._undone = stores.record(plan.undoes)

    def lay_ready(self, copies: Sequence[Copy], tick: Tick, *, resuming: bool) -> None:
        """Read every saved object back: each must be what was saved, also when an earlier run has begun."""
        stage.verify_saved(copies, self._undone, tick)

    def source_of(self, copy: Copy) -> tuple[Store, str]:
        """The saved object."""
        return self._undone.child(journal.SAVED_OBJECTS), copy.source

    def attributes_of(self, copy: Copy) -> Attributes | None:
        """Attributes that the object had before the change."""
        return self._attributes_at(copy.spot)

    def _attributes_at(self, spot: Spot) -> Attributes | None:
        saved = self._saved.get(spot)
        return None if saved is None else saved.attributes

    @cached_property
    def _saved(self) -> Mapping[Spot, Saved]:
        return stage.saved_objects(self._undone)

    def exchange(self, step: Replace, store: Store) -> None:
        """Put back the very object where the disk can do that: an earlier change finds it then as it has left it."""
        saved, name = self._undone.child(journal.SAVED_OBJECTS), f"{step.place}/{step.name}"
        with suppress(CheckpointNotFoundError):  # it is in the plan as well
            is_whole = saved.read_up_to(name, step.new_size + 1) == step.data.encode()
            if is_whole and saved.put_over(name, store, step.name):
                return
        store.write(
            step.name, step.data.encode(), like=self._attributes_at(step.spot), headers=store.headers(step.name)
        )

    @property
    def ways_out(self) -> str:
        """The same command goes on."""
        return f"run `{self.stores.undo_command}` again: it drops what the query has written, and continues"

    def finish(self, by: str, at_ms: int) -> None:
        """No directory is left of a source that the change had added, and the change counts as undone."""
        added = {action.name.rpartition("/")[0] for action in self.plan.actions if isinstance(action, Delete)}
        for directory in sorted(name for name in added if name.startswith(f"{layout.SOURCES}/")):
            self.stores.checkpoint.remove_empty(directory)
        journal.take_back(self._undone, self.plan.plan_id, by=by, at_ms=at_ms)
