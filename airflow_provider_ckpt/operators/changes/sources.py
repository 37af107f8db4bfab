"""The operator that says what each source of the next query continues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.operators.changes.in_place import CheckpointFencingOperator

if TYPE_CHECKING:
    from airflow_provider_ckpt.change.make_plan import Planner


class CheckpointSourcesOperator(CheckpointFencingOperator):
    """Sets what each source of the next query continues, in place, as ``ckpt sources`` does with ``--as``.

    Every source of the next query is in ``continued``, and every source of the checkpoint is continued or ``dropped``;
    or all of it is in ``plan``. A query with state is refused where a stateful operator could get the state of another
    one. ``ckpt undo`` takes it back.

    :param continued: Each source of the next query with the source of the checkpoint that it continues, or ``new``
        where it begins at its start: ``{"0": "0", "1": "new"}``, or texts such as ``0=0``. A source is its position or
        its name.
    :param dropped: Sources of the checkpoint that no source of the next query continues; one text or a list.
    :param operators: Stateful operators of the next query, such as ``stateStoreSave``, all of them in Spark's order.
    :param trigger: The trigger of the query as the query file says it.
    """

    does = "sources"
    has_done = "The sources were changed of"

    @classmethod
    def request(cls) -> type[Planner]:
        """What it asks for."""
        from airflow_provider_ckpt.changes.sources.make import SourcesRequest

        return SourcesRequest

    def __init__(
        self,
        *,
        continued: Mapping[str, str] | Sequence[str] | str | None = None,
        dropped: str | Sequence[str] = (),
        operators: str | Sequence[str] = (),
        trigger: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.continued = continued
        self.dropped = dropped
        self.operators = operators
        self.trigger = trigger
