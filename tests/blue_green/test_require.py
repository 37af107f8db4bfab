"""A fork is for one start: what an application has committed, or given to its sink, nobody writes again."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, Transaction, write_deltalake

from airflow_provider_ckpt.blue_green import require as module
from airflow_provider_ckpt.blue_green.require import (
    require_apart,
    require_stopped,
    require_unchanged,
    require_unstarted,
)
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.errors import CheckpointBusyError, PlanError
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.storage.store import Store
from tests.blue_green.lab import FORK_ID, Query, fork_of


def check(fork: Query) -> None:
    shadow = parse_sink(f"file:{fork.out}"), Store.open(str(fork.out))
    require_unstarted(Store.open(str(fork.checkpoint)), 3, shadow)


def test_a_fork_that_was_staged_alone(tmp_path):
    fork = fork_of(tmp_path, 2)
    fork.plan(3, {"offset": 12})
    check(fork)
    require_unstarted(Store.open(str(fork.checkpoint)), 3, (parse_sink("kafka"), None))
    require_unstarted(Store.open(str(fork.checkpoint)), 3, None)


@pytest.mark.parametrize(
    ("happens", "reason"),
    [
        (lambda fork: fork.run(3, rows=False), "batch 3 is committed"),
        (lambda fork: fork.write(3, []), "batch 3 is in its output"),
        (lambda fork: fork.run(3, 4), "batch 3 is in its output"),
    ],
    ids=["committed", "written", "both, and more"],
)
def test_a_fork_that_an_application_has_run_on(tmp_path, happens, reason):
    fork = fork_of(tmp_path, 2)
    happens(fork)
    with pytest.raises(PlanError, match=f"an application has run on the fork already: {reason}"):
        check(fork)


@pytest.mark.parametrize(
    ("writer", "batch", "mark", "is_known"),
    [
        (FORK_ID, 3, "", True),
        (FORK_ID, 2, "", False),
        ("somebody else", 3, "", False),
        ("orders", 4, "#txnAppId=orders", True),
    ],
)
def test_a_table_that_the_application_has_written_to(tmp_path, writer, batch, mark, is_known):
    """It died between its table and its commit: the batch is in the table, and not committed."""
    fork, place = Store.open(str(fork_of(tmp_path, 2).checkpoint)), str(tmp_path / "table")
    shadow = parse_sink(f"delta:{place}{mark}"), Store.open(place)
    require_unstarted(fork, 3, shadow)  # the table is not there yet
    marked = CommitProperties(app_transactions=[Transaction(writer, batch)])
    write_deltalake(place, pa.table({"value": [1]}), commit_properties=marked)
    if is_known:
        with pytest.raises(PlanError, match="batch 3 is in its output"):
            require_unstarted(fork, 3, shadow)
    else:
        require_unstarted(fork, 3, shadow)


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


def opened(text: str):
    sink = parse_sink(text)
    return sink, Store.open(sink.directory) if sink.directory else None


@pytest.mark.parametrize(
    ("shadow", "apart"),
    [
        ("file:/lake/orders-shadow", True),
        ("kafka", True),
        ("file:/lake/orders", False),
        ("parquet:/lake/orders/", False),
        ("file:/lake/orders/shadow", False),
        ("delta:/lake", False),
    ],
)
def test_two_outputs(shadow, apart):
    if apart:
        require_apart("c", opened("file:/lake/orders"), opened(shadow))
    else:
        with pytest.raises(PlanError, match="is the sink of the live query, or one is inside the other"):
            require_apart("c", opened("file:/lake/orders"), opened(shadow))


def test_sinks_without_a_directory():
    require_apart("c", opened("kafka:orders"), opened("kafka:orders-shadow"))
    with pytest.raises(PlanError, match=r"the shadow sink kafka:https://u@h is the sink"):
        require_apart("c", *[opened("kafka:https://u:hunter22@h")] * 2)
