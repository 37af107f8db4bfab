"""The operator that makes a new checkpoint at given positions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.given import is_nothing
from airflow_provider_ckpt.operators.base import plain
from airflow_provider_ckpt.operators.changes.asked import read_field, read_sources
from airflow_provider_ckpt.operators.changes.new_place import CheckpointNewPlaceOperator
from airflow_provider_ckpt.times import parse_time_ms

if TYPE_CHECKING:
    from airflow_provider_ckpt.change.open_sinks import Sinks
    from airflow_provider_ckpt.change.plan.kinds import Kind
    from airflow_provider_ckpt.change.plan.plan import Plan
    from airflow_provider_ckpt.change.record.receipt import Receipt
    from airflow_provider_ckpt.changes.seed.make import Given
    from airflow_provider_ckpt.lineage.datasets import Named
    from airflow_provider_ckpt.storage.store import Store


class CheckpointSeedOperator(CheckpointNewPlaceOperator):
    """Makes a new checkpoint from which a stateless query starts at given positions, as ``ckpt seed`` does.

    ``checkpoint`` must be new or empty. The positions are those of ``origin``, or ``offsets``; or all of it is in
    ``plan``. The batch ids go on after those that the sinks have seen. A task that is tried again, or is cleared,
    answers that it was done; when the location was cleared it writes again.

    :param origin: Checkpoint whose positions the new one gets. It is only read.
    :param batch: Positions after this committed batch of ``origin``; by default the newest one.
    :param at: Positions after the newest committed batch of ``origin`` that began by this time (ISO 8601, or epoch
        milliseconds).
    :param offsets: Positions by source id, such as ``{"0": {"orders": {"0": 5}}}``, every partition of a topic; JSON
        when it is text.
    :param sources: Type of each source by its id, such as ``{"0": "kafka"}``.
    :param after_batch: Begin after this batch or a later one, for a sink that ckpt cannot read.
    """

    kind: ClassVar[Kind] = "seed"
    does = "seed"
    has_done = "A new checkpoint was made at"
    template_fields: Sequence[str] = (
        *CheckpointNewPlaceOperator.template_fields,
        "sinks",
        "origin",
        "batch",
        "at",
        "offsets",
        "sources",
        "after_batch",
    )

    @classmethod
    def request(cls) -> type:
        """What it asks for."""
        from airflow_provider_ckpt.changes.seed.make import SeedRequest

        return SeedRequest

    def __init__(
        self,
        *,
        origin: str | None = None,
        batch: int | str | None = None,
        at: int | str | None = None,
        offsets: str | Mapping[str, Any] | None = None,
        sources: str | Mapping[str, str] | None = None,
        after_batch: int | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.origin = origin
        self.batch = batch
        self.at = at
        self.offsets = offsets
        self.sources = sources
        self.after_batch = after_batch

    def planned(self, target: Store, sinks: Sinks, begun: Plan | None) -> Plan:
        """The plan that this task has begun, or one made now."""
        from airflow_provider_ckpt.changes.seed.make import make_seed
        from airflow_provider_ckpt.query.source import known_types

        if begun is not None:
            return begun
        return make_seed(
            target,
            self._positions(),
            known_types(read_sources("sources", self.sources)),
            sinks=sinks,
            after_batch=self._number("after_batch") or 0,
        )

    def written(self, plan: Plan, target: Store, sinks: Sinks) -> Receipt:
        """Write the files of the new checkpoint."""
        from airflow_provider_ckpt.changes.seed.write import write_seed

        return write_seed(plan, target, sinks=sinks, **self.how)

    def lineage_inputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """The checkpoint whose positions it gets, and what was declared of the query."""
        from airflow_provider_ckpt.lineage.datasets import checkpoint, declared_sources

        origin = self.hook.known_url(self.origin) if self.origin else None
        if origin is not None:
            yield checkpoint(origin, batch_id=None, change="")
        yield from declared_sources(self.lineage_sources(), self.hook.known_url)
        yield from self.lineage_sinks()

    def _positions(self) -> Given:
        """The positions. Raises CheckpointError."""
        from airflow_provider_ckpt.changes.rollback.goal import ToTimestamp
        from airflow_provider_ckpt.changes.rollback.resolve import resolve
        from airflow_provider_ckpt.changes.seed.make import parse_positions, positions_of

        batch, has_offsets = self._number("batch"), not is_nothing(self.offsets)
        if bool(self.origin) == has_offsets:
            raise CheckpointError("give the positions: exactly one of origin and offsets; or plan")
        if has_offsets:
            if batch is not None or not is_nothing(self.at):
                raise CheckpointError("batch and at go with origin")
            try:
                return parse_positions(plain("offsets", self.offsets))
            except ValueError as error:
                raise CheckpointError(f"offsets: {error}") from error
        origin = self.store(self.origin)
        if is_nothing(self.at):
            return positions_of(origin, batch)
        if batch is not None:
            raise CheckpointError("give batch or at, not both")
        try:
            at_ms = parse_time_ms(str(self.at), now_ms=now_ms())
        except ValueError as error:
            raise CheckpointError(f"at: {error}") from error
        return positions_of(origin, resolve(origin, ToTimestamp(at_ms)))

    def _number(self, name: str) -> int | None:
        number: int | None = read_field(self.request(), name, getattr(self, name))
        return number
