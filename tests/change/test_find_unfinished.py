"""A change over one that was interrupted: its plan names that one, and the undo of it names what stays half done."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.errors import StoreUnavailableError
from airflow_provider_ckpt.storage.store import Store
from tests.change.plans import STOPPED
from tests.fake_query import FakeQuery, read_all
from tests.faults import Fault, FaultyStore


class AtRemoval(Fault):
    """Fails at the n-th removal from the checkpoint."""

    def hits(self, call: str, store: Store) -> bool:
        return call == "delete_if" and super().hits(call, store)


@pytest.fixture
def query(tmp_path) -> FakeQuery:
    query = FakeQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(6):
        query.commit(batch_id)
    return query


def told(plan: Plan) -> list[str]:
    return [text for text in plan.warnings if "was interrupted" in text]


def test_a_rollback_over_an_interrupted_one_and_its_undo_name_that_one(query):
    stores = Stores(query.store)
    first = make_rollback(stores, 3)
    with pytest.raises(StoreUnavailableError):
        apply(first, Stores(FaultyStore.of(query.store, AtRemoval(3))), by="ann@host", **STOPPED)
    torn = read_all(query.store)
    assert told(make_rollback(stores, 3)) == [], "it completes that one"

    further = make_rollback(stores, 1)
    (warning,) = told(further)
    assert warning.startswith(f"The rollback to batch 3 ({first.plan_id}) that was begun at ")
    assert " by ann@host was interrupted" in warning
    assert apply(further, stores, **STOPPED).status == "applied"
    assert told(make_rollback(stores, 0)) == [], "the newest change is whole"

    undo = make_undo(stores)
    (warning,) = told(undo)
    assert first.plan_id in warning and f"ckpt undo --undoes {first.plan_id}" in warning
    apply(undo, stores, **STOPPED)
    assert read_all(query.store) == torn
    last = make_undo(stores, undoes=first.plan_id)
    assert told(last) == []
    apply(last, stores, **STOPPED)
    assert read_all(query.store) == query.files
