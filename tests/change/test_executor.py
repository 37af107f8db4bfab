"""What comes to another place is whole in the record before the first step, and nothing of it is left at the end."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pytest

from airflow_provider_ckpt.change.executor import InPlace
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.actions import Copy, Delete
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.storage.store import Store
from tests.change.plans import ROLLBACK

OLD, NEW, DATA = "sources/0/0", "sources/1/0", b"v1\n{}"


@pytest.fixture
def begun(tmp_path):
    """An executor, and how often it has asked whether the lock is still its own."""
    stores, asked = Stores(Store.open(str(tmp_path / "orders"))), []
    stores.checkpoint.create(OLD, DATA)
    copy = Copy(NEW, size=len(DATA), sha256=sha256(DATA).hexdigest(), source=OLD)
    delete = Delete(OLD, size=len(DATA), identity=stores.checkpoint.stat(OLD).identity)
    plan = replace(ROLLBACK, kind="sources", location=stores.checkpoint.location, actions=(delete, copy))
    return InPlace(plan, stores, lambda: asked.append(True)), asked


def test_what_comes_is_staged_put_in_its_place_and_cleared_away(begun):
    executor, asked = begun
    delete, copy = executor.plan.actions
    executor.prepare(executor.plan.actions, lambda: None, resuming=False)
    staged, name = executor.source_of(copy)
    assert (staged.read(name), executor.stores.checkpoint.stat(NEW)) == (DATA, None)
    executor.delete(delete)
    executor.put(copy)
    executor.judge_outcome()
    executor.finish("ada", 0)
    assert executor.stores.checkpoint.read(NEW) == DATA
    assert executor.record.child(journal.STAGED_OBJECTS).find() == {}
    assert executor.record.child(journal.SAVED_OBJECTS).read(f"checkpoint/{OLD}") == DATA, "for ckpt undo"
    assert asked, "before anything is deleted from the record"


def test_without_copies_nothing_is_cleared_away(begun):
    executor, asked = begun
    executor.plan = replace(executor.plan, actions=executor.plan.actions[:1])
    executor.finish("ada", 0)
    assert asked == []
