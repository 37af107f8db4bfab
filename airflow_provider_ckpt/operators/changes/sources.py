"""The operator that says what each source of the next query continues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.kinds import Kind
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.sources.make import make_source_change
from airflow_provider_ckpt.changes.sources.request import SourcesRequest
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.operators.base import plain, texts_of
from airflow_provider_ckpt.operators.changes.asked import asked_of, rendered_fields
from airflow_provider_ckpt.operators.changes.in_place import CheckpointChangeOperator, CheckpointFencingOperator


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
    :param trigger: The trigger of the query as a deploy file says it.
    """

    kind: ClassVar[Kind] = "sources"
    does = "sources"
    has_done = "The sources were changed of"
    template_fields: Sequence[str] = rendered_fields(SourcesRequest, CheckpointChangeOperator.template_fields)

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

    def planned(self) -> tuple[Plan, Stores]:
        """A plan made now, or that of a change that was interrupted."""
        asked = asked_of(
            self,
            SourcesRequest,
            continued=self._continued(),
            dropped=_names("dropped", self.dropped),
            operators=texts_of("operators", plain("operators", self.operators)),
        )
        try:
            change = asked.change()
        except ValueError as error:
            raise CheckpointError(f"continued and dropped: {error}") from error
        stores = Stores.of(self.checkpoint, self.store, sink=asked.sink, undo=self.undo_root)

        def make(fenced: bool) -> Plan:
            return make_source_change(stores, change, sink=asked.sink, trigger=asked.trigger, fenced=fenced)

        return self.planned_behind(make, stores, asked.trigger), stores

    def _continued(self) -> tuple[str, ...]:
        given = plain("continued", self.continued)
        if not isinstance(given, Mapping):
            return _names("continued", given)
        pairs = [(_name("continued", new), _name("continued", old)) for new, old in given.items()]
        return tuple(f"{new}={old}" for new, old in pairs)


def _names(name: str, value: Any) -> tuple[str, ...]:
    """Texts of an argument, in which a template may have made numbers of positions. Raises CheckpointError."""
    given = plain(name, value)
    if given is None or given == "":
        return ()
    return tuple(_name(name, item) for item in (given if isinstance(given, list | tuple) else [given]))


def _name(name: str, value: Any) -> str:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise CheckpointError(f"{name} must have a position or a name for each source, not {value!r:.60}")
