"""Making the plans of repartitions: observe, refuse, decide, and find what was begun before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from airflow_provider_ckpt.change.fit_sink import require_fit
from airflow_provider_ckpt.change.lock import lock_warnings
from airflow_provider_ckpt.change.open_sinks import sink_of
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.change.record.resume import Said, find_interrupted
from airflow_provider_ckpt.changes.repartition.plan import plan_repartition
from airflow_provider_ckpt.changes.repartition.refusals import require_number, require_repartitionable
from airflow_provider_ckpt.checkpoint.find_flows import refuse_replaced
from airflow_provider_ckpt.checkpoint.observe import observe, refuse_closed, refuse_links
from airflow_provider_ckpt.checkpoint.read_unmoved import read_unmoved
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec import layout, state_schema
from airflow_provider_ckpt.codec.state_metadata import AGGREGATION
from airflow_provider_ckpt.errors import CheckpointFormatError
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.sinks.change_effects import repartition_effect
from airflow_provider_ckpt.sinks.read_marker import read_marker
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
    begun = find_interrupted(stores, "repartition", lambda plan: plan.partitions == partitions, Said(sink))
    if begun is not None:
        return begun
    if (done := _done_before(stores, partitions)) is not None:
        return done
    return read_unmoved(lambda: _fresh(stores, partitions, sink), stores.checkpoint, stores.sink)


def _done_before(stores: Stores, partitions: int) -> Plan | None:
    """The same repartition, carried out, while the state has that many partitions still."""
    done = [change for change in history(stores.checkpoint, stores.undo) if change.state == "applied"]
    if not done or done[-1].plan.kind != "repartition" or done[-1].plan.partitions != partitions:
        return None
    view = observe(stores.checkpoint)
    committed = view.latest_committed
    return done[-1].plan if committed is not None and view.partitions_of(committed) == partitions else None


def make_repartition_again(plan: Plan, stores: Stores) -> Plan:
    """The repartition that would be planned now in the place of one that was not begun yet. Raises PlanError."""
    return _fresh(stores, plan.partitions or 0, sink_of(plan))


def _fresh(stores: Stores, partitions: int, sink: Sink | None) -> Plan:
    checkpoint = stores.checkpoint
    require_number(checkpoint.location, partitions)
    declared = sink or (Sink("file", stores.sink.location) if stores.sink else Sink(""))
    files = stores.sink if declared.kind == "file" else None
    view = examine(checkpoint, deep=True, sink=files)
    refuse_replaced(checkpoint)
    refuse_links(view)
    refuse_closed(view)
    require_repartitionable(view, partitions, frozenset(_keyless(checkpoint, view)))
    store = stores.sink if declared.directory else None
    marker = read_marker(declared, store, view.query_id, view.latest_committed or 0)
    require_fit(checkpoint, stores.undo, view, declared, store, marker)
    effect = repartition_effect(marker, (view.latest_committed or 0) + 1)
    plan = plan_repartition(view, partitions, now_ms(), replace(effect, sink=declared.at(store).name), view.sink)
    return replace(plan, warnings=(*plan.warnings, *lock_warnings(checkpoint)))


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
