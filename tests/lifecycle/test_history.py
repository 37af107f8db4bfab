"""What was done to a checkpoint, by whom; and what can no longer be undone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.errors import BatchNotRestorableError, CheckpointBusyError, PlanError, StalePlanError
from airflow_provider_ckpt.lifecycle import Stores, records
from airflow_provider_ckpt.lifecycle.locks import locked
from airflow_provider_ckpt.plans import plan_from_dict
from airflow_provider_ckpt.store import Store
from airflow_provider_ckpt.targets import ToOffsets, ToTimestamp, ToWatermark
from tests.faults import Fault, FaultyStore
from tests.lifecycle.fake_query import FakeQuery, read_all, timestamp_ms, watermark_ms

STOPPED = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "unknown"}


@pytest.fixture
def query(tmp_path) -> FakeQuery:
    """Six batches, 0 to 5."""
    query = FakeQuery(FaultyStore.over(str(tmp_path / "orders"), Fault()))
    for batch_id in range(6):
        query.commit(batch_id)
    return query


@pytest.fixture
def stores(query) -> Stores:
    return Stores(query.store)


def test_each_change_says_who_when_from_and_to(stores):
    for target in (4, 2):
        lifecycle.apply(lifecycle.make_rollback(stores, target), stores, by=f"dag/run/to_{target}", **STOPPED)
    lifecycle.apply(lifecycle.make_undo(stores), stores, by="ann@host", **STOPPED)
    changes = lifecycle.history(stores.checkpoint)
    told = [(item.plan.kind, item.from_batch, item.plan.batch_id, item.state, item.by) for item in changes]
    assert told == [
        ("rollback", 5, 4, "applied", "dag/run/to_4"),
        ("rollback", 4, 2, "undone", "dag/run/to_2"),
        ("undo", 2, 4, "applied", "ann@host"),
    ]
    times = [(item.plan.planned_at_ms, item.begun_at_ms, item.done_at_ms) for item in changes]
    assert all(planned <= begun <= done for planned, begun, done in times)
    assert lifecycle.find_record(stores.checkpoint, changes[0].plan.plan_id).plan == changes[0].plan


def test_a_restored_checkpoint_says_where_it_comes_from_and_by_whom(stores, tmp_path):
    root, target = Store.open(str(tmp_path / "backups")), Store.open(str(tmp_path / "moved"))
    backup = lifecycle.take_backup(stores.checkpoint, root)
    receipt = lifecycle.restore(
        lifecycle.make_restore(root, backup, target), root, target, by="ann@host", accept_sink="unknown"
    )
    [made] = lifecycle.history(target)
    assert (made.plan.kind, made.plan.source, made.state, made.by) == ("restore", root.location, "applied", "ann@host")
    assert receipt.record == made.location
    with pytest.raises(PlanError, match="nothing to undo"):
        lifecycle.make_undo(Stores(target))
    lifecycle.restore(lifecycle.make_restore(root, backup, target), root, target, by="bob@host", accept_sink="unknown")
    assert lifecycle.history(target) == (made,), "a second one had nothing to do"


def test_the_first_one_to_begin_is_the_one_remembered(stores):
    plan = lifecycle.make_rollback(stores, 2)

    def stop(done: int, total: int, name: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lifecycle.apply(plan, stores, by="ann@host", on_step=stop, **STOPPED)
    assert lifecycle.history(stores.checkpoint)[0].state == "interrupted"
    lifecycle.apply(lifecycle.make_rollback(stores, 2), stores, by="bob@host", **STOPPED)
    (change,) = lifecycle.history(stores.checkpoint)
    assert (change.state, change.by, change.from_batch) == ("applied", "ann@host", 5)


def test_what_was_given_up_is_gone_and_cannot_be_undone(query, stores):
    plan = lifecycle.make_rollback(stores, 2)
    lifecycle.apply(plan, stores, **STOPPED)
    after = read_all(query.store)
    assert lifecycle.forget(plan.plan_id, stores) == len(plan.actions)
    (change,) = lifecycle.history(stores.checkpoint)
    assert change.forgotten and Store.open(change.location).child("saved").find() == {}
    with pytest.raises(PlanError, match="given up"):
        lifecycle.make_undo(stores)
    assert lifecycle.apply(plan, stores, **STOPPED).status == "already_applied"
    assert read_all(query.store) == after
    with pytest.raises(PlanError, match="known are"):
        lifecycle.forget("no-such-plan", stores)


def test_what_an_interrupted_change_needs_is_not_given_up(stores):
    plan = lifecycle.make_rollback(stores, 2)

    def stop(done: int, total: int, name: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lifecycle.apply(plan, stores, on_step=stop, **STOPPED)
    with pytest.raises(PlanError, match="interrupted"):
        lifecycle.forget(plan.plan_id, stores)


def test_what_an_interrupted_undo_needs_is_not_given_up(query, stores):
    """Half of what the rollback removed is back; the other half is in its record alone."""
    plan = lifecycle.make_rollback(stores, 2)
    lifecycle.apply(plan, stores, **STOPPED)

    def stop(done: int, total: int, name: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lifecycle.apply(lifecycle.make_undo(stores), stores, on_step=stop, **STOPPED)
    with pytest.raises(PlanError, match=f"{plan.plan_id} has saved is still needed: the undo .* was interrupted"):
        lifecycle.forget(plan.plan_id, stores)
    lifecycle.apply(lifecycle.make_undo(stores), stores, **STOPPED)
    assert read_all(query.store) == query.files
    assert lifecycle.forget(plan.plan_id, stores) == len(plan.actions)


def test_a_plan_that_was_undone_is_not_applied_again(query, stores):
    """Somebody's approved plan comes late: what it removes is saved no more, and could not be put back."""
    plan = plan_from_dict(lifecycle.make_rollback(stores, 2).to_dict())
    lifecycle.apply(plan, stores, **STOPPED)
    lifecycle.apply(lifecycle.make_undo(stores), stores, **STOPPED)
    with pytest.raises(StalePlanError, match="was undone"):
        lifecycle.apply(plan, stores, **STOPPED)
    assert read_all(query.store) == query.files


def test_a_plan_that_was_given_up_is_not_applied_again(query, stores):
    """What it would save was given up before it was saved: it could not be undone."""
    plan = lifecycle.make_rollback(stores, 2)
    refused = stores.record(plan.plan_id)
    records.begin(refused, plan, by="ann", at_ms=1, from_batch=5)
    records.refuse(refused, "a query was running", 2)
    lifecycle.forget(plan.plan_id, stores)
    with pytest.raises(StalePlanError, match="was given up"):
        lifecycle.apply(plan, stores, **STOPPED)
    assert read_all(query.store) == query.files


def test_nothing_is_done_without_the_word_that_the_query_is_stopped(query, stores):
    plan = lifecycle.make_rollback(stores, 2)
    with pytest.raises(CheckpointBusyError, match="needs the query to be stopped"):
        lifecycle.apply(plan, stores, quiet_s=0, accept_sink="unknown")
    assert read_all(query.store) == query.files and lifecycle.history(query.store) == ()


def test_two_operators_do_not_act_at_once(query, stores):
    plan = lifecycle.make_rollback(stores, 2)
    with locked(query.store, "another", "ann@host"):
        for act in (lambda: lifecycle.apply(plan, stores, **STOPPED), lambda: lifecycle.forget(plan.plan_id, stores)):
            with pytest.raises(CheckpointBusyError, match="ann@host"):
                act()
    assert read_all(query.store) == query.files


def test_a_change_whose_lock_is_broken_before_its_first_step_takes_none(query, stores):
    plan, other = lifecycle.make_rollback(stores, 2), locked(query.store, "another", "bob@host", break_lock=True)
    with pytest.raises(CheckpointBusyError, match="bob@host"):
        lifecycle.apply(plan, stores, **{**STOPPED, "quiet_s": 0.01}, tell=lambda text: other.__enter__())
    other.__exit__(None, None, None)
    assert read_all(query.store) == query.files
    assert [change.state for change in lifecycle.history(query.store)] == ["refused"]


def test_records_elsewhere_do_not_hide_the_lock(query, tmp_path):
    elsewhere = Stores(query.store, undo=Store.open(str(tmp_path / "records")))
    with locked(query.store, "another", "ann@host"), pytest.raises(CheckpointBusyError):
        lifecycle.apply(lifecycle.make_rollback(elsewhere, 2), elsewhere, **STOPPED)


@pytest.mark.parametrize(
    "target",
    [
        ToTimestamp(timestamp_ms(3) + 1),
        ToWatermark(watermark_ms(3)),
        ToOffsets({"0": '{"offset":45,"timestamp":0}'}, {"0": "rate-micro-batch"}),
    ],
)
def test_targets_lead_to_the_same_batch(stores, target):
    plan = lifecycle.make_rollback(stores, target, sources={"0": "rate-micro-batch"})
    assert plan.batch_id == 3 and plan.actions == lifecycle.make_rollback(stores, 3).actions
    assert plan.notes[0].startswith("Batch 3 is the newest committed one that")
    assert plan.notes[-1] == "Source 0 (rate-micro-batch) is read again: 20 rows."


def test_a_killed_rollback_by_time_is_completed_by_the_same_command(stores):
    target = ToTimestamp(timestamp_ms(3))
    plan = lifecycle.make_rollback(stores, target)

    def stop(done: int, total: int, name: str) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lifecycle.apply(plan, stores, on_step=stop, **STOPPED)
    assert lifecycle.make_rollback(stores, target) == plan


def test_an_undo_that_was_killed_at_its_end_is_no_rollback_to_where_it_leads(stores):
    lifecycle.apply(lifecycle.make_rollback(stores, 2), stores, **STOPPED)

    def stop(done: int, total: int, name: str) -> None:
        if done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lifecycle.apply(lifecycle.make_undo(stores), stores, on_step=stop, **STOPPED)
    assert lifecycle.make_rollback(stores, 5).kind == "rollback"


def test_what_was_purged_is_named_with_the_backups_that_hold_it(query, stores, tmp_path):
    root = Store.open(str(tmp_path / "backups"))
    early = FakeQuery(Store.open(str(tmp_path / "before" / "orders")))
    for batch_id in range(2):
        early.commit(batch_id)
        lifecycle.take_backup(early.store, root)
    for name in ("offsets/0", "offsets/1", "commits/0", "commits/1"):
        query.store.delete(name)
    older, newer = lifecycle.list_backups(root)
    stores = replace(stores, backups=root)
    with pytest.raises(BatchNotRestorableError) as refused:
        lifecycle.make_rollback(stores, ToTimestamp(timestamp_ms(0)))
    assert "the oldest is batch 2, which began at 2026-01-01T00:02:00.000Z" in str(refused.value)
    assert older.backup_id in str(refused.value) and newer.backup_id not in str(refused.value)
    with pytest.raises(BatchNotRestorableError, match=newer.backup_id):
        lifecycle.make_rollback(stores, 1)


def test_a_query_without_a_watermark_has_no_such_target(tmp_path):
    query = FakeQuery(Store.open(str(tmp_path / "orders")), has_watermark=False)
    query.commit(0)
    query.commit(1)
    with pytest.raises(PlanError, match="no watermark"):
        lifecycle.make_rollback(Stores(query.store), ToWatermark(timestamp_ms(9)))
