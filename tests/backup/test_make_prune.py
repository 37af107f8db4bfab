"""The plans of prunes: what goes, by the policy, by the age of what nobody names, and by what can still be restored."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.backup.make_prune import make_prune
from airflow_provider_ckpt.backup.retention import RetentionPolicy
from airflow_provider_ckpt.errors import BackupNotFoundError
from airflow_provider_ckpt.storage.store import Store
from tests.backup_lab import Query, files

LAST = RetentionPolicy(keep_last=1)


@pytest.fixture
def orders(goldens, tmp_path) -> Query:
    return Query(goldens["4.3.0/agg-hdfs"] / "checkpoint", tmp_path / "checkpoint")


@pytest.fixture
def root(tmp_path) -> Store:
    return Store.open(str(tmp_path / "backups"))


def test_a_plan_changes_nothing_and_is_json(orders, root, tmp_path):
    dropped = [orders.back_up(root, batch) for batch in (3, 5)]
    orders.back_up(root, 7)
    before = files(tmp_path / "backups")
    plan = make_prune(root, LAST)
    assert files(tmp_path / "backups") == before
    assert plan.dropped == tuple(item.backup_id for item in dropped)
    document = json.loads(json.dumps(plan.to_dict()))
    assert document["decisions"][2]["reasons"] == ["last 1"] and document["policy"]["keep_last"] == 1


def test_a_root_without_any_backup_is_an_error_unless_it_may_be_empty(root):
    with pytest.raises(BackupNotFoundError):
        make_prune(root, LAST)
    assert make_prune(root, LAST, allow_empty=True).decisions == ()


def test_the_newest_backup_that_verifies_is_kept_beside_a_broken_one(orders, root):
    whole, broken = orders.back_up(root, 6), orders.back_up(root, 7, full=True)
    root.write(f"{broken.backup_id}/checkpoint/metadata", b"{}")
    plan = make_prune(root, LAST)
    assert (plan.dropped, plan.verified) == ((), (whole.backup_id,))


def test_where_no_backup_verifies_none_is_dropped(orders, root):
    taken = [orders.back_up(root, batch, full=True).backup_id for batch in (6, 7)]
    for backup_id in taken:
        root.write(f"{backup_id}/checkpoint/metadata", b"{}")
    plan = make_prune(root, LAST)
    assert (plan.dropped, plan.verified) == ((), ())
