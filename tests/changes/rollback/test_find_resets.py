"""A rollback over a reset: where the query begins then, and what can be said of what is read again."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.reset.make import make_reset
from airflow_provider_ckpt.changes.rollback.goal import ToBackup
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.sources.kafka.extent import offsets_of
from airflow_provider_ckpt.sources.kafka.resolve_goal import KafkaAim
from airflow_provider_ckpt.sources.kafka.strategies import ShiftBy
from airflow_provider_ckpt.storage.store import Store
from tests.changes.reset.kafka_query import KafkaQuery, broker_of
from tests.fake_query import read_all

STOPPED: dict[str, Any] = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "duplicated skipped unknown"}
KAFKA = parse_sink("kafka")
#: The batch after which the query was moved, where it was, and where it was moved to.
AT, OLD, NEW = 3, 40, 5


@pytest.fixture
def query(tmp_path) -> KafkaQuery:
    """Batches 0 to 3, a reset after 3, and batches 4 and 5, each of which reads 10 offsets of both partitions."""
    query = KafkaQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(AT + 1):
        query.commit(batch_id)
    reset(query, NEW - OLD)
    for batch_id in (AT + 1, AT + 2):
        end = NEW + 10 * (batch_id - AT)
        query.plan(batch_id, {"orders": {"0": end, "1": end}})
        query.commit(batch_id)
    query.files = read_all(query.store)
    return query


def reset(query: KafkaQuery, offsets: int) -> Plan:
    plan = make_reset(Stores(query.store), "0", KafkaAim(broker_of(query), ShiftBy(offsets)), sink=KAFKA)
    apply(plan, Stores(query.store), **STOPPED)
    return plan


def roll_back(query: KafkaQuery, target: Any, **stores: Store) -> Plan:
    plan = make_rollback(Stores(query.store, **stores), target, sink=KAFKA, sources={"0": "kafka"})
    apply(plan, Stores(query.store, **stores), **STOPPED)
    return plan


def position(query: KafkaQuery) -> tuple[int | None, int]:
    """The newest committed batch, and where the query is."""
    view = observe(query.store)
    return view.latest_committed, offsets_of(view.offset_seq(view.latest_committed or 0).offset("0"))["orders", 0]


def test_a_later_batch_has_nothing_to_do_with_it(query):
    plan = roll_back(query, AT + 1)
    assert plan.warnings == () and plan.notes[1] == "Source 0 (kafka) is read again: 20 records."
    assert position(query) == (AT + 1, NEW + 10)


def test_a_rollback_to_the_batch_of_the_reset_keeps_what_it_moved(query):
    plan = roll_back(query, AT)
    assert "begins where the reset" in plan.warnings[0] and "and not where batch 3 had ended." in plan.warnings[0]
    assert plan.warnings[0].endswith("Source 0 goes to the committed offsets -35.")
    assert plan.notes[1] == "Source 0 (kafka) is read again: 40 records."
    assert position(query) == (AT, NEW)


def test_a_rollback_to_a_batch_before_it_drops_the_reset(query):
    plan = roll_back(query, AT - 1)
    (warning,) = plan.warnings
    assert "which moved the query after batch 3, is dropped with that batch: batch 3 begins where batch 2" in warning
    assert len(plan.notes) == 1, "how much is read again is not told"
    assert position(query) == (AT - 1, OLD - 10)
    query.plan(AT)
    query.commit(AT)
    warnings = make_rollback(Stores(query.store), AT - 1, sink=KAFKA).warnings
    assert not [warning for warning in warnings if "reset" in warning], "it is over"


def test_undo_brings_back_the_reset_and_then_what_was_before_it(query):
    roll_back(query, AT - 1)
    apply(make_undo(Stores(query.store)), Stores(query.store), **STOPPED)
    assert read_all(query.store) == query.files
    apply(make_undo(Stores(query.store), sink=KAFKA), Stores(query.store), **STOPPED)
    assert position(query) == (AT, OLD)


def test_undo_takes_back_a_reset_and_then_the_rollback_before_it(tmp_path):
    """The entry that comes back is the very one that the rollback has left."""
    query = KafkaQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(AT + 1):
        query.commit(batch_id)
    roll_back(query, 1)
    between = read_all(query.store)
    reset(query, -7)
    for expected in (between, query.files):
        apply(make_undo(Stores(query.store), sink=KAFKA), Stores(query.store), **STOPPED)
        assert read_all(query.store) == expected


def test_of_two_resets_after_one_batch_the_second_counts(query):
    roll_back(query, AT)
    second = reset(query, 2)
    (warning,) = make_rollback(Stores(query.store), AT, sink=KAFKA).warnings
    assert second.plan_id in warning and position(query) == (AT, NEW + 2)


def test_a_reset_that_was_undone_is_none(query):
    apply(make_undo(Stores(query.store), sink=KAFKA), Stores(query.store), **STOPPED)
    query.plan(AT + 1)
    query.commit(AT + 1)
    assert make_rollback(Stores(query.store), AT, sink=KAFKA).warnings == ()


def test_a_rollback_to_a_backup_of_after_the_reset(query, tmp_path):
    root = Store.open(str(tmp_path / "backups"))
    roll_back(query, AT)
    take_backup(query.store, root, commit_wait_s=0)
    query.plan(AT + 1, {"orders": {"0": NEW + 10, "1": NEW + 10}})
    query.commit(AT + 1)
    plan = roll_back(query, ToBackup(root.location, "latest"), backups=root)
    assert position(query) == (AT, NEW) and "begins where the reset" in plan.warnings[0]


def test_a_backup_of_before_the_reset_is_another_history(tmp_path):
    """Its entry of the batch is not the one that is there: undo takes the reset back, a restore goes elsewhere."""
    query, root = KafkaQuery(Store.open(str(tmp_path / "orders"))), Store.open(str(tmp_path / "backups"))
    for batch_id in range(AT + 1):
        query.commit(batch_id)
    take_backup(query.store, root, commit_wait_s=0)
    reset(query, NEW - OLD)
    with pytest.raises(BatchNotRestorableError, match="offsets/3: is not the file of backup"):
        make_rollback(Stores(query.store, backups=root), ToBackup(root.location, "latest"), sink=KAFKA)
