"""Finding the stateful operators of a checkpoint: what they say of themselves, and what their state shows."""

from __future__ import annotations

from airflow_provider_ckpt.changes.sources.state import JOIN, Operators
from airflow_provider_ckpt.checkpoint.find_restart_set import operator_names
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.storage.store import Store

_JOIN_FORMAT = "spark.sql.streaming.join.stateFormatVersion"
#: With these a join has four stores of its own in each partition; later it has one, as other operators have.
_JOINS_OF_STORES = (None, "1", "2")


def find_operators(store: Store, view: CheckpointView) -> Operators:
    """The stateful operators.

    Args:
        store: The checkpoint.
        view: The whole checkpoint, with its newest offset entry.
    """
    ids = {layout.operator_of(name) for name in view.names_below(layout.STATE)} - {None}
    if not ids:
        return Operators()
    newest = max(batch for batch in (view.latest_planned, view.latest_committed) if batch is not None)
    names = operator_names(store, view, newest)
    if len(names) == len(ids):
        return Operators(len(ids), names, JOIN in names)
    return Operators(len(ids), None, _may_join(view))


def _may_join(view: CheckpointView) -> bool:
    """True if state of operators without metadata may be the state of a join."""
    entry = view.latest_offset_seq
    conf = entry.metadata.conf if isinstance(entry, OffsetSeq) and entry.metadata is not None else {}
    if conf.get(_JOIN_FORMAT) not in _JOINS_OF_STORES:
        return True
    places = (layout.parse(name) for name in view.names_below(layout.STATE))
    return any(place.store_id.store for place in places if isinstance(place, layout.StateFile))
