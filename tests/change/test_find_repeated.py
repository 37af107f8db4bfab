"""A change that is asked for once more after the query has gone on: the plan names the earlier one and the batches."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.reset.make import make_reset
from airflow_provider_ckpt.changes.rollback.goal import ToBackup, ToBatch
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.sources.kafka.resolve_goal import KafkaAim
from airflow_provider_ckpt.sources.kafka.strategies import ShiftBy
from airflow_provider_ckpt.storage.store import Store
from tests.changes.reset.kafka_query import KafkaQuery, broker_of

DONE: dict[str, Any] = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "duplicated skipped unknown"}


@pytest.fixture
def query(tmp_path) -> KafkaQuery:
    query = KafkaQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(5):
        query.commit(batch_id)
    return query


def warnings_of(plan: Plan) -> list[str]:
    return [warning for warning in plan.warnings if "had the same goal" in warning]


def test_a_rollback_to_the_same_batch_names_the_earlier_one_and_what_was_committed_since(query):
    stores = Stores(query.store)
    first = make_rollback(stores, 2)
    assert warnings_of(first) == []
    apply(first, stores, by="dag/run/task", **DONE)
    assert warnings_of(make_rollback(stores, 2)) == []
    for batch_id in (3, 4, 5):
        query.plan(batch_id)
        query.commit(batch_id)
    (warning,) = warnings_of(make_rollback(stores, 2))
    assert warning.startswith(f"The query has committed batches 3 to 5 since the rollback {first.plan_id} at ")
    assert " by dag/run/task, which had the same goal. " in warning
    assert warnings_of(make_rollback(stores, ToBatch(3))) == []
    assert apply(make_rollback(stores, 2), stores, **DONE).status == "applied"


def test_what_was_undone_is_not_repeated(query):
    stores = Stores(query.store)
    apply(make_rollback(stores, 2), stores, **DONE)
    apply(make_undo(stores), stores, **DONE)
    assert warnings_of(make_rollback(stores, 2)) == []


def test_so_does_a_rollback_to_the_same_backup(query, tmp_path):
    root = Store.open(str(tmp_path / "backups"))
    take_backup(query.store, root)
    stores = Stores(query.store, backups=root)
    for _ in range(2):
        query.plan(5)
        query.commit(5)
        plan = make_rollback(stores, ToBackup(root.location, "latest"))
        apply(plan, stores, **DONE)
    assert len(warnings_of(plan)) == 1


def test_so_does_a_reset_to_the_same_place_that_reads_rows_again(query):
    stores = Stores(query.store)

    def reset(offsets: int) -> Plan:
        return make_reset(stores, "0", KafkaAim(broker_of(query), ShiftBy(offsets)))

    first = reset(-5)
    apply(first, stores, **DONE)
    query.commit(5)
    (warning,) = warnings_of(reset(-5))
    assert warning.startswith(f"The query has committed batch 5 since the reset {first.plan_id} at ")
    assert warnings_of(reset(-6)) == []
