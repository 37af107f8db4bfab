"""Making the plans of repartitions: what Spark would refuse, too late, or would do wrong is refused first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

from airflow_provider_ckpt.change.make_plan import Planner, Seen, refuse_unchangeable
from airflow_provider_ckpt.change.option import Opt
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.kinds import Kind
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.journal import Record
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
        stores: The checkpoint and the other places of the change.
        partitions: How many partitions the state will have.
        sink: The sink of the query; a file sink when ``stores.sink`` is given and nothing else is said.

    Raises:
        PlanError: Spark would refuse it, too late, or would do it wrong; the error says why.
        CheckpointMovedError: The query is running, and removes what was just listed.
    """
    return RepartitionRequest(partitions=partitions, sink=sink).plan(stores)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepartitionRequest(Planner):
    """How many partitions the state is to have, and the Spark that moves it."""

    kind: ClassVar[Kind] = "repartition"
    partitions: Annotated[
        int | None,
        Opt(
            "--partitions PARTITIONS",
            "How many partitions the state is to have. The next start of the query runs with that number.",
            "whole",
            least=1,
        ),
    ] = None
    confs: Annotated[
        Mapping[str, str],
        Opt(
            "--conf KEY=VALUE",
            "Conf of the Spark session that repartitions, such as spark.master or what it needs to reach the "
            "checkpoint. Confs of the state are taken from the checkpoint. Can be given more than once.",
            "pairs",
            beside_plan=True,
        ),
    ] = field(default_factory=dict)
    sink: Annotated[
        Sink | None,
        Opt(
            "--sink TYPE[:URI]",
            "Sink of the query: file, delta, iceberg or hudi with its URI, or another type such as kafka. The log of "
            "a file sink gets an empty entry, without which the sink stops later.",
            "sink",
        ),
    ] = None

    @property
    def places(self) -> Mapping[str, Any]:
        """The sink, and what Spark needs."""
        return {"sink": self.sink, "spark_confs": self.confs}

    def require_sense(self) -> None:
        """Raise ValueError without a number."""
        if self.partitions is None:
            raise ValueError("give --partitions N (in a DAG: partitions=N), or a plan")

    @classmethod
    def of(cls, plan: Plan, stores: Stores) -> Self:
        """The repartition to the same number."""
        return cls(partitions=plan.partitions or 0, sink=plan.declared_sink)

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
        is_file = stores.declared(self.sink).kind == "file"
        view = examine(checkpoint, deep=True, sink=stores.sink if is_file else None, strict=True)
        refuse_unchangeable(checkpoint, view)
        return view

    def decide(self, seen: Seen) -> Plan:
        """One step of Spark's, and one more for the log of a file sink."""
        view = seen.view
        assert self.partitions is not None
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
