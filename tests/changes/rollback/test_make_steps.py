"""The steps of a rollback, without what its reader is told of the goal."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.backup.catalog import find_backup
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.make_plan import Seen, observe_whole
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record.resume import Said
from airflow_provider_ckpt.changes.rollback.make_steps import drop_later, exchange
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery


def seen_of(tmp_path, batch_id: int) -> Seen:
    """A query that has committed batches 0 to 4, with a backup of batch 2."""
    query, root = FakeQuery(Store.open(str(tmp_path / "orders"))), Store.open(str(tmp_path / "backups"))
    for number in range(5):
        query.commit(number)
        if number == 2:
            take_backup(query.store, root)
    return Seen(Stores(query.store, backups=root), observe_whole(query.store, batch_id), Said())


def test_what_came_after_the_batch_goes(tmp_path):
    plan = drop_later(seen_of(tmp_path, 2), 2, fenced=False)
    assert (plan.batch_id, plan.notes) == (2, ())
    assert {action.name for action in plan.actions} >= {"offsets/3", "commits/3", "offsets/4", "commits/4"}


def test_a_batch_that_was_never_there_is_refused(tmp_path):
    with pytest.raises(BatchNotRestorableError):
        drop_later(seen_of(tmp_path, 9), 9, fenced=False)


def test_what_a_backup_has_comes_where_it_is_missing(tmp_path):
    seen = seen_of(tmp_path, 2)
    seen.checkpoint.delete("offsets/2")
    seen = Seen(seen.stores, observe_whole(seen.checkpoint, 2), seen.said)
    assert seen.stores.backups is not None
    plan, entry, _ = exchange(seen, find_backup(seen.stores.backups, "latest"), fenced=False, closed=False)
    assert plan.notes[0].startswith("1 files (") and plan.backup_id is not None
    assert entry.encode() != b""
