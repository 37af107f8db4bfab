"""The operator that takes back the newest change of a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_provider_ckpt.change.kinds import Kind
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.operators.base import text_of
from airflow_provider_ckpt.operators.in_place import CheckpointChangeOperator


class CheckpointUndoOperator(CheckpointChangeOperator):
    """Takes back the newest change of a checkpoint that is not undone yet, as ``ckpt undo`` does.

    Batches that the query has written since are dropped, and kept. After an interruption a second run completes it.

    :param undoes: The id of the plan that is to be taken back. It is refused when the newest change is another one, so
        that a second run never takes back the change before.
    :param trigger: The trigger of the query; by default the one that was said for the change.
    """

    kind: ClassVar[Kind] = "undo"
    does = "undo"
    has_done = "A change was undone of"
    template_fields: Sequence[str] = (*CheckpointChangeOperator.template_fields, "undoes", "trigger")

    def __init__(self, *, undoes: str | None = None, trigger: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.undoes = undoes
        self.trigger = trigger

    def planned(self) -> tuple[Plan, Stores]:
        """A plan made now, or one that was begun and interrupted."""
        sink = self.declared_sink()
        stores = Stores.of(self.checkpoint, self.store, sink=sink, undo=self.undo_root)
        plan = make_undo(stores, sink=sink, opened=self.store, trigger=self.trigger or None)
        wanted = text_of(self.undoes)
        if wanted and plan.undoes != wanted:
            raise PlanError(
                f"the newest change that is not undone is {plan.undoes}, not {wanted!r:.60}.",
                location=stores.checkpoint.location,
                hint="Nothing was done. ckpt history shows the changes; a later one has to be undone first, and one "
                "that is undone already needs no undo.",
            )
        return plan, stores
