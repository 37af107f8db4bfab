"""The restore with which a query began, as its record tells of it."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.repair.find_fork import find_fork
from airflow_provider_ckpt.changes.restore.make import fork_id, make_restore
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.storage.store import Store


@pytest.mark.parametrize(("is_fork", "by", "expected"), [(True, "me", 7), (False, "me", None), (True, "", None)])
def test_a_recorded_restore_with_a_new_id_is_a_fork(goldens, tmp_path, is_fork, by, expected):
    root, target = Store.open(str(tmp_path / "backups")), Store.open(str(tmp_path / "ck"))
    taken = take_backup(Store.open(str(goldens["4.3.0/agg-hdfs"] / "checkpoint")), root)
    plan = make_restore(root, taken, target, fork_id(taken, target) if is_fork else None)
    restore(plan, root, target, by=by, accept_sink="unknown")
    found = find_fork(Stores(target), observe(target).query_id)
    assert (found and found.batch_id) == expected
    assert find_fork(Stores(target), "another") is None
