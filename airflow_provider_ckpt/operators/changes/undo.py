"""The operator that takes back the newest change of a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.operators.base import text_of
from airflow_provider_ckpt.operators.changes.in_place import CheckpointChangeOperator

if TYPE_CHECKING:
    from airflow_provider_ckpt.change.make_plan import Planner
    from airflow_provider_ckpt.change.places import Stores
    from airflow_provider_ckpt.change.record.journal import Record


class CheckpointUndoOperator(CheckpointChangeOperator):
    """Takes back the newest change of a checkpoint that is not undone yet, as ``ckpt undo`` does.

    Batches that the query has written since are dropped, and kept. After an interruption a second run completes it. A
    task that is tried again or cleared takes back nothing more; when another task of its DAG run has changed the
    checkpoint since, the run is being repeated, and that change is taken back.

    :param undoes: The id of the plan that is to be taken back. It is refused when the newest change is another one, and
        is done when this one is undone already.
    :param trigger: The trigger of the query; by default the one that was said for the change.
    :param downstream: Where checkpoints of other queries are searched for that have read what is dropped, beside those
        in the directory of this one: one location or several.
    """

    does = "undo"
    has_done = "A change was undone of"

    @classmethod
    def request(cls) -> type[Planner]:
        """What it asks for."""
        from airflow_provider_ckpt.change.undo.make import UndoRequest

        return UndoRequest

    def __init__(
        self,
        *,
        undoes: str | None = None,
        trigger: str | None = None,
        downstream: str | Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.undoes = undoes
        self.trigger = trigger
        self.downstream = downstream

    def done(self, stores: Stores, by: str) -> Record | None:
        """The undo that this task has carried out before, or whoever has undone what it names."""
        from airflow_provider_ckpt.change.record.find_done import find_undo_of

        wanted = text_of(self.undoes)
        return (find_undo_of(wanted, stores) if wanted else None) or super().done(stores, by)
