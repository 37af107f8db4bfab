"""Which sinks stop a query that runs a batch again: those that skip it, when its state is not there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.skipped_batch import judged_by_sink
from airflow_provider_ckpt.checkpoint.sink_marker import SinkCommit, SinkMarker
from airflow_provider_ckpt.sinks.effects import SinkEffect
from tests.change.plans import ROLLBACK
from tests.views import offset_entry, view_of

ENTRIES = {f"offsets/{batch}": offset_entry(batch) for batch in (2, 3)}
#: Batch 3 is in flight; of its state one of two parts is there.
HALF = ("state/0/0/3.delta", "state/0/0/4.delta", "state/0/1/3.delta")
PLAN = replace(ROLLBACK, kind="salvage", effects=(SinkEffect("delta:/table", "exact", "no batch runs again"),))


def effect(kind: str, last_batch: int | None, *state: str) -> str:
    after = replace(view_of("metadata", "commits/2", *state, **ENTRIES), complete=True, stateful=bool(state))
    commits = () if last_batch is None else (SinkCommit(f"_spark_metadata/{last_batch}", last_batch),)
    return judged_by_sink(PLAN, after, SinkMarker(kind, "/table", "id", last_batch, commits)).sink_effect


@pytest.mark.parametrize(
    ("kind", "last_batch", "state", "expected"),
    [
        ("file", 3, HALF, "stops"),
        ("delta", 3, HALF, "stops"),
        ("hudi", 3, HALF, "stops"),
        ("iceberg", 3, HALF, "exact"),  # it computes what it skips
        ("kafka", None, HALF, "exact"),
        ("file", 2, HALF, "exact"),  # it takes the batch
        ("file", None, HALF, "exact"),
        ("file", 3, (*HALF, "state/0/1/4.delta"), "exact"),  # it was written before the crash
        ("file", 3, (), "exact"),  # the query has no state
    ],
)
def test_a_query_stops_where_the_sink_skips_a_batch_whose_state_is_not_there(kind, last_batch, state, expected):
    assert effect(kind, last_batch, *state) == expected
