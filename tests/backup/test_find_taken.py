"""A backup is found again by whoever has asked for it, while a new one would be of the same batch."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.backup.find_taken import MOST, find_taken
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.checkpoint.own_files import MANIFEST
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery

ME, OTHER = "monday/it backup", "tuesday/it backup"


@pytest.fixture
def query(tmp_path):
    query = FakeQuery(Store.open(str(tmp_path / "orders")))
    query.commit(0)
    return query


@pytest.fixture
def root(tmp_path):
    return Store.open(str(tmp_path / "backups"))


def found(query, root, asked_by=ME):
    taken = find_taken(query.store, root, asked_by)
    return None if taken is None else taken.backup_id


def test_nobody_has_taken_one_yet(query, root):
    assert found(query, root) is None
    take_backup(query.store, root)
    assert found(query, root) is None


def test_it_is_found_beside_those_of_others_and_what_cannot_be_read(query, root):
    mine = take_backup(query.store, root, asked_by=ME).backup_id
    take_backup(query.store, root)
    theirs = take_backup(query.store, root, asked_by=OTHER).backup_id
    root.write(f"{take_backup(query.store, root, asked_by=ME, full=True).backup_id}/{MANIFEST}", b"cut")
    assert (found(query, root), found(query, root, OTHER)) == (mine, theirs)


@pytest.mark.parametrize("since", ["the next batch", "the same batch again, as after a rollback"])
def test_a_query_that_has_gone_on_needs_another(query, root, since):
    take_backup(query.store, root, asked_by=ME)
    query.plan(1)
    assert found(query, root) is not None, "a batch in flight is in no backup"
    if since == "the next batch":
        query.commit(1)
    else:
        query.plan(0)
    assert found(query, root) is None


def test_a_checkpoint_at_another_place_needs_another(query, root, tmp_path):
    take_backup(query.store, root, asked_by=ME)
    copy = FakeQuery(Store.open(str(tmp_path / "copy")))
    copy.commit(0)
    assert found(copy, root) is None


def test_a_query_that_has_long_stopped_costs_a_bounded_search(query, root):
    take_backup(query.store, root, asked_by=ME)
    for _ in range(MOST - 1):
        take_backup(query.store, root)
    assert found(query, root) is not None
    take_backup(query.store, root)
    assert found(query, root) is None
