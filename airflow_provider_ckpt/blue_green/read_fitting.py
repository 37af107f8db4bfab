"""A sink and the checkpoint of its query at one moment, while the query runs."""

from __future__ import annotations

from airflow_provider_ckpt.change.fit_sink import require_fit
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.sinks.read_marker import read_marker
from airflow_provider_ckpt.storage.store import Store

#: How often both are read again when the query plans or commits a batch meanwhile.
MOST_TRIES = 5


def read_fitting(checkpoint: Store, sink: Sink, store: Store | None) -> tuple[CheckpointView, SinkMarker]:
    """The checkpoint, and what the sink remembers of its query at the same moment.

    A query that goes on between the two readings would make its own sink seem that of another query.

    Raises:
        PlanError: The sink is not that of the query.
    """
    before = observe(checkpoint)
    for _ in range(MOST_TRIES):
        marker = read_marker(sink, store, before.query_id, 0)
        view = observe(checkpoint)
        if (before.latest_planned, before.latest_committed) == (view.latest_planned, view.latest_committed):
            break
        before = view
    require_fit(checkpoint, None, view, sink, store, marker)
    return view, marker
