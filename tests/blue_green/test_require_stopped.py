"""A query that is said to be stopped: the statement is refuted by whoever writes, now or since an earlier look."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ckpt.blue_green import require_stopped as module
from airflow_provider_ckpt.blue_green.require_stopped import require_stopped, require_unchanged
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.errors import CheckpointBusyError
from airflow_provider_ckpt.storage.store import Store
from tests.blue_green.lab import Query


@pytest.fixture
def live(tmp_path: Path) -> Query:
    """A query that has committed batches 0 to 2."""
    return Query(tmp_path).run(0, 1, 2)


def test_who_still_writes_is_not_stopped(live, monkeypatch):
    store = Store.open(str(live.checkpoint))
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    require_stopped(store)
    monkeypatch.setattr(module.time, "sleep", lambda _: live.run(3))
    with pytest.raises(CheckpointBusyError, match="a query is running"):
        require_stopped(store)


def unchanged(live: Query, batch_id: int | None, in_flight: int | None) -> None:
    require_unchanged(observe(Store.open(str(live.checkpoint))), batch_id, in_flight)


def test_what_is_as_it_was_judged(live):
    unchanged(live, 2, None)
    live.plan(3, {"offset": 12})
    unchanged(live, 2, 3)


@pytest.mark.parametrize(
    ("happens", "now"),
    [
        (lambda live: live.run(3), "batch 3 was the latest committed one now"),
        (lambda live: live.plan(3, {"offset": 12}), "batch 2 was the latest committed one and batch 3 was in flight"),
    ],
    ids=["committed", "planned"],
)
def test_a_query_that_somebody_started_meanwhile(live, happens, now):
    happens(live)
    with pytest.raises(CheckpointBusyError, match="a query has run since the switch was judged") as refused:
        unchanged(live, 2, None)
    assert f"batch 2 was the latest committed one then, and {now}" in refused.value.message
    assert "clear the task stopped" in refused.value.hint


def test_a_first_batch_that_somebody_committed_meanwhile(live):
    with pytest.raises(CheckpointBusyError, match="no batch was committed and batch 0 was in flight then"):
        unchanged(live, None, 0)
