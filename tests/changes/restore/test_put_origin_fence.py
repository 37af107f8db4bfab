"""The fence of the checkpoint that a backup was taken from."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.backup.catalog import find_backup
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.changes.fence import put_fence
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.changes.restore.put_origin_fence import behind_fence_of_origin
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery


def test_the_query_that_was_backed_up_is_stopped_and_not_the_one_that_is_restored(tmp_path, monkeypatch):
    monkeypatch.setattr(put_fence, "SETTLE_ON_DISK_S", 0.0)
    live, root, target = (Store.open(str(tmp_path / name)) for name in ("live", "backups", "orders"))
    query = FakeQuery(live)
    for batch_id in range(4):
        query.commit(batch_id)
    take_backup(live, root)
    query.commit(4)
    told = []
    plan = make_restore(root, find_backup(root), target)
    taken_back = f"this takes it back: ckpt undo {live.location}"
    with (
        pytest.raises(PlanError, match=f"The fence offsets/5 stays; {taken_back}"),
        behind_fence_of_origin(root, plan, Store.open, by="ann", tell=told.append),
    ):
        raise PlanError("refused")
    assert [(item.plan.kind, item.plan.batch_id, item.by) for item in history(live)] == [("fence", 4, "ann")]
    assert target.find() == {}
    assert told[-1] == (
        f"{live.location}, which the backup was taken from, is fenced behind batch 4, and stays so. This takes the fence "
        f"back: ckpt undo {live.location}"
    )
