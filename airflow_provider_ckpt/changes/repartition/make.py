"""Making the plans of repartitions: what Spark would refuse, too late, or would do wrong is refused first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

from airflow_provider_ckpt.change.make_plan import Planner, Seen, find_or_make, refuse_unchangeable
from airflow_provider_ckpt.change.open_sinks import sink_of
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.kinds import Kind
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.journal import Record
from airflow_provider_ckpt.change.record.resume import Said
from airflow_provider_ckpt.changes.repartition.plan import plan_repartition
from airflow_provider_ckpt.changes.repartition.refusals import require_number, require_repartitionable
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec import layout, state_schema
from airflow_provider_ckpt.codec.state_metadata import AGGREGATION
from airflow_provider_ckpt.errors import CheckpointFormatError
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.sinks.change_effects import repartition_effect
from airflow_provider_ckpt.storage.store import Store


def make_repartition(stores: Stores, partitions: int, *, sink: Sink | None = None) -> Plan:
    """Plan to give the state another number of partitions, or find the plan of such a change that was killed.

    Args:
        stores: Where.
        partitions: How many partitions the state will have.
        sink: The sink of the query; a file sink when ``stores.sink`` is given and nothing else is said.

    Raises:
        PlanError: Spark would refuse it, too late, or would do it wrong; the error says why.
        CheckpointMovedError: The query is running, and removes what was just listed.
    """
    return find_or_make(Repartitioning(partitions, said=Said(sink)), stores)


@dataclass(frozen=True, slots=True)
class Repartitioning(Planner):
    """The state in so many partitions."""

    kind: ClassVar[Kind] = "repartition"
    partitions: int

    @classmethod
    def of(cls, plan: Plan, stores: Stores) -> Self:
        """The repartition to the same number."""
        return cls(plan.partitions or 0, said=Said(sink_of(plan)))

    def is_met_by(self, plan: Plan) -> bool:
        """The same number is the same end."""
        return plan.partitions == self.partitions

    def is_done(self, record: Record, stores: Stores) -> bool:
        """As long as the state has that many partitions."""
        view = observe(stores.checkpoint)
        committed = view.latest_committed
        return committed is not None and view.partitions_of(committed) == self.partitions

    def observe(self, stores: Stores) -> CheckpointView:
        """The checkpoint as the rules judge it, with its state."""
        checkpoint = stores.checkpoint
        require_number(checkpoint.location, self.partitions)
        is_file = stores.declared(self.said.sink).kind == "file"
        view = examine(checkpoint, deep=True, sink=stores.sink if is_file else None, strict=True)
        refuse_unchangeable(checkpoint, view)
        return view

    def decide(self, seen: Seen) -> Plan:
        """One step of Spark's, and one more for the log of a file sink."""
        view = seen.view
        require_repartitionable(view, self.partitions, frozenset(_keyless(seen.checkpoint, view)))
        effect = repartition_effect(seen.sink.marker, (view.latest_committed or 0) + 1)
        return plan_repartition(view, self.partitions, now_ms(), seen.sink.named(effect), view.sink)

    def judge(self, plan: Plan, seen: Seen) -> Plan:
        """What Spark leaves is judged when it has done it."""
        return plan


def _keyless(checkpoint: Store, view: CheckpointView) -> Iterator[int]:
    """The aggregations whose keys have no column, or whose schema cannot be read."""
    for operator_id, operator in view.operators.items():
        if operator.operator_name != AGGREGATION:
            continue
        name = f"{layout.STATE}/{operator_id}/0/_metadata/schema"
        try:
            families = state_schema.decode(checkpoint.head(name), name).families if name in view.objects else ()
        except CheckpointFormatError:
            families = ()
        if not families or not all(family.key for family in families):
            yield operator_id
