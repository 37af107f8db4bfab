"""A bookmark leads back to the very batch that it was taken at, or to nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.rollback.find_bookmarked import find_bookmarked
from airflow_provider_ckpt.changes.rollback.goal import BeforeDeploy, ToBackup, ToBatch
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.errors import BatchNotRestorableError, PlanError
from airflow_provider_ckpt.restart.bookmark import Bookmark, take_bookmark
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery, purge


@pytest.fixture
def query(tmp_path: Path) -> FakeQuery:
    """A query that has committed batches 0 to 2."""
    query = FakeQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(3):
        query.commit(batch_id)
    return query


@pytest.fixture
def before(query: FakeQuery) -> Bookmark:
    """Taken at batch 2; two batches have come since."""
    bookmark = take_bookmark(observe(query.store))
    query.commit(3)
    query.commit(4)
    return bookmark


def stores_of(query: FakeQuery, backups: Path | None = None) -> Stores:
    root = None if backups is None else str(backups)
    return Stores.of(query.store.location, Store.open, backups=root)


def test_the_plan_goes_back_to_the_batch_of_the_bookmark_and_says_so(query, before):
    plan = make_rollback(stores_of(query), BeforeDeploy(before))
    assert plan.batch_id == 2
    assert plan.notes[0] == "Batch 2 was the newest committed one when the bookmark was taken."
    assert plan.actions == make_rollback(stores_of(query), 2).actions


def test_a_batch_that_was_in_flight_is_planned_anew(query, before):
    plan = make_rollback(stores_of(query), BeforeDeploy(replace(before, in_flight=3)))
    assert plan.notes[0].endswith("Batch 3 was in flight then; it is dropped, and planned anew.")


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"query_id": "another"}, "the bookmark is of query another"),
        ({"query_id": None}, "the bookmark is of query none"),
        ({"batch_id": None}, "no batch was committed when the bookmark was taken"),
        ({"offsets": {"0": "7"}}, "batch 2 is not the one that the bookmark has"),
        ({"offsets": {}}, "batch 2 is not the one that the bookmark has"),
        ({"batch_timestamp_ms": 1}, "batch 2 is not the one that the bookmark has: it was planned at another time"),
        ({"batch_timestamp_ms": None}, "or an earlier version of ckpt took the bookmark"),
        ({"batch_id": 9}, "the newest committed batch is 4, and the bookmark was taken at batch 9"),
    ],
)
def test_another_history_is_refused(query, before, changed, problem):
    with pytest.raises(PlanError) as refused:
        find_bookmarked(stores_of(query), replace(before, **changed))
    assert problem in str(refused.value)


@pytest.mark.parametrize("data", [None, b"", b"v1", b"garbage"], ids=["purged", "empty", "cut", "foreign"])
def test_a_batch_that_is_gone_or_damaged_comes_from_a_backup_of_that_batch_alone(query, before, tmp_path, data):
    root = tmp_path / "backups"
    if data is None:
        purge(query, 4)
    else:
        query.store.write("offsets/2", data)
    with pytest.raises(BatchNotRestorableError, match="no root of backups was given"):
        find_bookmarked(stores_of(query), before)
    with pytest.raises(BatchNotRestorableError, match="no backup in .* has it"):
        find_bookmarked(stores_of(query, root), before)


def test_the_backup_must_have_the_offsets_of_the_bookmark(query, tmp_path):
    root = Store.open(str(tmp_path / "backups"))
    taken, before = take_backup(query.store, root), take_bookmark(observe(query.store))
    for batch_id in (3, 4, 5):
        query.commit(batch_id)
    purge(query, 5)
    stores = stores_of(query, tmp_path / "backups")
    assert find_bookmarked(stores, before) == ToBackup(root.location, taken.backup_id)
    assert make_rollback(stores, BeforeDeploy(before)).batch_id == 2
    with pytest.raises(BatchNotRestorableError, match="no backup in"):
        find_bookmarked(stores, replace(before, offsets={"0": "7"}))


def test_nothing_has_run_since(query):
    before = take_bookmark(observe(query.store))
    assert find_bookmarked(stores_of(query), before) == ToBatch(2)
    assert make_rollback(stores_of(query), BeforeDeploy(before)).actions == ()


@pytest.mark.parametrize("begun_by", ["the bookmark", "the batch"])
def test_a_rollback_that_was_killed_is_completed_as_it_was_begun(query, before, begun_by):
    class KilledError(Exception):
        pass

    def kill(done: int, total: int, name: str) -> None:
        raise KilledError

    stores = stores_of(query)
    plan = make_rollback(stores, BeforeDeploy(before) if begun_by == "the bookmark" else 2)
    how = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "unknown"}
    with pytest.raises(KilledError):
        apply(plan, stores, on_step=kill, **how)
    again = make_rollback(stores, BeforeDeploy(before))
    assert again.plan_id == plan.plan_id
    assert apply(again, stores, **how).status == "applied"
