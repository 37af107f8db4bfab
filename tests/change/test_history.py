"""What was done to a checkpoint, by whom; and what can no longer be undone."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.catalog import list_backups
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change import apply as apply_module
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.lock import locked
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import plan_from_dict
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.change.record.forget import forget
from airflow_provider_ckpt.change.record.journal import find_record, history
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.changes.rollback.goal import ToOffsets, ToTimestamp, ToWatermark
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.errors import (
    BatchNotRestorableError,
    CheckpointBusyError,
    PlanError,
    StalePlanError,
    StoreUnavailableError,
)
from airflow_provider_ckpt.storage.store import Store
from tests.change.plans import STOPPED
from tests.fake_query import FakeQuery, read_all, timestamp_ms, watermark_ms
from tests.faults import Fault, FaultyStore


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


def fresh_copy(source: str, target: str) -> None:
    """A copy that keeps no times."""
    shutil.copytree(source, target, copy_function=shutil.copyfile)


def test_each_change_says_who_when_from_and_to(stores):
    for target in (4, 2):
        apply(make_rollback(stores, target), stores, by=f"dag/run/to_{target}", **STOPPED)
    apply(make_undo(stores), stores, by="ann@host", **STOPPED)
    changes = history(stores.checkpoint)
    told = [(item.plan.kind, item.from_batch, item.plan.batch_id, item.state, item.by) for item in changes]
    assert told == [
        ("rollback", 5, 4, "applied", "dag/run/to_4"),
        ("rollback", 4, 2, "undone", "dag/run/to_2"),
        ("undo", 2, 4, "applied", "ann@host"),
    ]
    times = [(item.plan.planned_at_ms, item.begun_at_ms, item.done_at_ms) for item in changes]
    assert all(planned <= begun <= done for planned, begun, done in times)
    assert find_record(stores.checkpoint, changes[0].plan.plan_id).plan == changes[0].plan


@pytest.mark.parametrize("skew_ms", [0, -7_200_000, 7_200_000])
def test_the_order_of_changes_is_not_that_of_the_clocks(stores, monkeypatch, skew_ms):
    """The second operator is on a machine whose clock is wrong by hours."""
    apply(make_rollback(stores, 4), stores, by="ann@right", **STOPPED)
    right = apply_module.now_ms
    with monkeypatch.context() as wrong:
        wrong.setattr(apply_module, "now_ms", lambda: right() + skew_ms)
        apply(make_rollback(stores, 2), stores, by="bob@wrong", **STOPPED)
    changes = history(stores.checkpoint)
    assert [(item.plan.batch_id, item.number) for item in changes] == [(4, 1), (2, 2)]
    assert (changes[0].begun_at_ms > changes[1].begun_at_ms) == (skew_ms < 0)
    undo = make_undo(stores)
    assert undo.undoes == changes[1].plan.plan_id
    apply(undo, stores, by="ann@right", **STOPPED)
    assert make_undo(stores).undoes == changes[0].plan.plan_id


def test_an_undo_without_the_place_of_a_later_record_names_that_cause(stores, tmp_path):
    apply(make_rollback(stores, 4), stores, by="ann@host", **STOPPED)
    elsewhere = replace(stores, undo=Store.open(str(tmp_path / "elsewhere")))
    apply(make_rollback(elsewhere, 2), elsewhere, by="ann@host", **STOPPED)
    with pytest.raises(PlanError, match="cannot be undone in place") as refused:
        make_undo(stores)
    assert (
        "a later change whose record is in another directory" in refused.value.hint
        and "--undo-to ROOT" in refused.value.hint
    )
    for place in (elsewhere, stores):
        apply(make_undo(place), place, by="ann@host", **STOPPED)


def test_a_restored_checkpoint_says_where_it_comes_from_and_by_whom(stores, tmp_path):
    root, target = Store.open(str(tmp_path / "backups")), Store.open(str(tmp_path / "moved"))
    backup = take_backup(stores.checkpoint, root)
    receipt = restore(make_restore(root, backup, target), root, target, by="ann@host", accept_sink="unknown")
    [made] = history(target)
    assert (made.plan.kind, made.plan.source, made.state, made.by) == ("restore", root.location, "applied", "ann@host")
    assert receipt.record == made.location
    with pytest.raises(PlanError, match="no change that can be undone"):
        make_undo(Stores(target))
    restore(make_restore(root, backup, target), root, target, by="bob@host", accept_sink="unknown")
    assert history(target) == (made,), "a second one had nothing to do"


def test_the_first_one_to_begin_is_the_one_remembered(stores):
    plan = make_rollback(stores, 2)

    def stop(done: int, total: int, name: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(plan, stores, by="ann@host", on_step=stop, **STOPPED)
    assert history(stores.checkpoint)[0].state == "interrupted"
    apply(make_rollback(stores, 2), stores, by="bob@host", **STOPPED)
    (change,) = history(stores.checkpoint)
    assert (change.state, change.by, change.from_batch) == ("applied", "ann@host", 5)


def test_what_was_given_up_is_gone_and_cannot_be_undone(query, stores):
    plan = make_rollback(stores, 2)
    apply(plan, stores, **STOPPED)
    after = read_all(query.store)
    assert forget(plan.plan_id, stores) == len(plan.actions)
    (change,) = history(stores.checkpoint)
    assert change.forgotten and Store.open(change.location).child("saved").find() == {}
    with pytest.raises(PlanError, match="deleted for good"):
        make_undo(stores)
    assert apply(plan, stores, **STOPPED).status == "already_applied"
    assert read_all(query.store) == after
    with pytest.raises(PlanError, match="The recorded plans are"):
        forget("no-such-plan", stores)


def test_what_an_interrupted_change_needs_is_not_given_up(stores):
    plan = make_rollback(stores, 2)

    def stop(done: int, total: int, name: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(plan, stores, on_step=stop, **STOPPED)
    with pytest.raises(PlanError, match="interrupted"):
        forget(plan.plan_id, stores)


def test_what_an_interrupted_undo_needs_is_not_given_up(query, stores):
    """Half of what the rollback removed is back; the other half is in its record alone."""
    plan = make_rollback(stores, 2)
    apply(plan, stores, **STOPPED)

    def stop(done: int, total: int, name: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(make_undo(stores), stores, on_step=stop, **STOPPED)
    with pytest.raises(
        PlanError, match=f"{plan.plan_id} has saved are still needed, because the undo .* was interrupted"
    ):
        forget(plan.plan_id, stores)
    apply(make_undo(stores), stores, **STOPPED)
    assert read_all(query.store) == query.files
    assert forget(plan.plan_id, stores) == len(plan.actions)


def test_a_plan_that_was_undone_is_not_applied_again(query, stores):
    """Somebody's approved plan comes late: what it removes is saved no more, and could not be put back."""
    plan = plan_from_dict(make_rollback(stores, 2).to_dict())
    apply(plan, stores, **STOPPED)
    apply(make_undo(stores), stores, **STOPPED)
    with pytest.raises(StalePlanError, match="and then undone"):
        apply(plan, stores, **STOPPED)
    assert read_all(query.store) == query.files


def test_a_plan_that_was_given_up_is_not_applied_again(query, stores):
    """What it would save its saved files were deleted before it was saved: it could not be undone."""
    plan = make_rollback(stores, 2)
    refused = stores.record(plan.plan_id)
    journal.begin(refused, plan, by="ann", at_ms=1, from_batch=5, number=1)
    journal.refuse(refused, "a query was running", 2)
    forget(plan.plan_id, stores)
    with pytest.raises(StalePlanError, match="its saved files were deleted"):
        apply(plan, stores, **STOPPED)
    assert read_all(query.store) == query.files


def test_nothing_is_done_without_the_word_that_the_query_is_stopped(query, stores):
    plan = make_rollback(stores, 2)
    with pytest.raises(CheckpointBusyError, match="needs a statement that the query is stopped"):
        apply(plan, stores, quiet_s=0, accept_sink="unknown")
    assert read_all(query.store) == query.files and history(query.store) == ()


def test_a_plan_that_was_refused_is_of_who_applies_it_later(query, stores):
    plan = make_rollback(stores, 2)
    refused = stores.record(plan.plan_id)
    journal.begin(refused, plan, by="ann", at_ms=1, from_batch=5, number=1, approved_by="bob", accepted=["skipped"])
    journal.refuse(refused, "a query was running", 2)
    apply(plan, stores, by="eve", **STOPPED)
    (change,) = history(query.store)
    assert (change.by, change.approved_by, change.accepted_sink) == ("eve", "", ("unknown",))
    assert change.begun_at_ms > 1 and change.state == "applied"


@pytest.mark.parametrize("later", ["planned", "refused"])
def test_a_change_that_was_interrupted_is_completed_whatever_took_no_step_since(query, stores, later):
    with pytest.raises(StoreUnavailableError):
        apply(make_rollback(stores, 2), Stores(FaultyStore.of(query.store, AtRemoval(4))), **STOPPED)
    (begun,) = history(query.store)
    assert begun.state == "interrupted"
    other = make_rollback(stores, 1)
    journal.begin(stores.record(other.plan_id), other, by="bob", at_ms=begun.begun_at_ms + 1, from_batch=5, number=2)
    if later == "refused":
        journal.refuse(stores.record(other.plan_id), "a query was running", begun.begun_at_ms + 2)
    assert [change.state for change in history(query.store)] == ["interrupted", later]
    assert make_rollback(stores, 2) == begun.plan


class AtRemoval(Fault):
    """Fails at the n-th removal from the checkpoint."""

    def hits(self, call: str, store: Store) -> bool:
        return call == "delete_if" and super().hits(call, store)


def test_a_plan_whose_steps_were_taken_out_is_not_done_before(query, stores):
    """It requires nothing, and has nothing left to do."""
    plan = replace(make_rollback(stores, 2), actions=(), requirements=())
    with pytest.raises(StalePlanError, match="the plan has 0 steps, now it would have"):
        apply(plan, stores, **STOPPED)
    done = make_rollback(stores, 5)
    assert apply(done, stores, **STOPPED).status == "already_applied", "a plan that never had any"


def test_two_operators_do_not_act_at_once(query, stores):
    plan = make_rollback(stores, 2)
    with locked(query.store, "another", "ann@host"):
        for act in (lambda: apply(plan, stores, **STOPPED), lambda: forget(plan.plan_id, stores)):
            with pytest.raises(CheckpointBusyError, match="ann@host"):
                act()
    assert read_all(query.store) == query.files


def test_a_change_whose_lock_is_broken_before_its_first_step_takes_none(query, stores):
    plan, other = make_rollback(stores, 2), locked(query.store, "another", "bob@host", break_lock=True)
    with pytest.raises(CheckpointBusyError, match="bob@host"):
        apply(plan, stores, **{**STOPPED, "quiet_s": 0.01}, tell=lambda text: other.__enter__())
    other.__exit__(None, None, None)
    assert read_all(query.store) == query.files and history(query.store) == ()


def test_records_elsewhere_do_not_hide_the_lock(query, tmp_path):
    elsewhere = Stores(query.store, undo=Store.open(str(tmp_path / "records")))
    with locked(query.store, "another", "ann@host"), pytest.raises(CheckpointBusyError):
        apply(make_rollback(elsewhere, 2), elsewhere, **STOPPED)


@pytest.mark.parametrize(
    "target",
    [
        ToTimestamp(timestamp_ms(3) + 1),
        ToWatermark(watermark_ms(3)),
        ToOffsets({"0": '{"offset":45,"timestamp":0}'}, {"0": "rate-micro-batch"}),
    ],
)
def test_targets_lead_to_the_same_batch(stores, target):
    plan = make_rollback(stores, target, sources={"0": "rate-micro-batch"})
    assert plan.batch_id == 3 and plan.actions == make_rollback(stores, 3).actions
    assert plan.notes[0].startswith("Batch 3 is the newest committed one that")
    assert plan.notes[-1] == "Source 0 (rate-micro-batch) is read again: 20 rows."


def test_a_killed_rollback_by_time_is_completed_by_the_same_command(stores):
    target = ToTimestamp(timestamp_ms(3))
    plan = make_rollback(stores, target)

    def stop(done: int, total: int, name: str) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(plan, stores, on_step=stop, **STOPPED)
    assert make_rollback(stores, target) == plan


def test_an_undo_that_was_killed_at_its_end_is_no_rollback_to_where_it_leads(stores):
    apply(make_rollback(stores, 2), stores, **STOPPED)

    def stop(done: int, total: int, name: str) -> None:
        if done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(make_undo(stores), stores, on_step=stop, **STOPPED)
    assert make_rollback(stores, 5).kind == "rollback"


def test_what_was_purged_is_named_with_the_backups_that_hold_it(query, stores, tmp_path):
    root = Store.open(str(tmp_path / "backups"))
    early = FakeQuery(Store.open(str(tmp_path / "before" / "orders")))
    for batch_id in range(2):
        early.commit(batch_id)
        take_backup(early.store, root)
    for name in ("offsets/0", "offsets/1", "commits/0", "commits/1"):
        query.store.delete(name)
    older, newer = list_backups(root)
    stores = replace(stores, backups=root)
    with pytest.raises(BatchNotRestorableError) as refused:
        make_rollback(stores, ToTimestamp(timestamp_ms(0)))
    assert "the oldest is batch 2, which began at 2026-01-01T00:02:00.000Z" in str(refused.value)
    assert older.backup_id in str(refused.value) and newer.backup_id not in str(refused.value)
    with pytest.raises(BatchNotRestorableError, match=newer.backup_id):
        make_rollback(stores, 1)


def test_a_query_without_a_watermark_has_no_such_target(tmp_path):
    query = FakeQuery(Store.open(str(tmp_path / "orders")), has_watermark=False)
    query.commit(0)
    query.commit(1)
    with pytest.raises(PlanError, match="no watermark"):
        make_rollback(Stores(query.store), ToWatermark(timestamp_ms(9)))


@pytest.mark.parametrize(("copy", "is_undone"), [(shutil.move, True), (fresh_copy, False)])
def test_a_checkpoint_that_was_moved_with_its_records(query, stores, tmp_path, copy, is_undone):
    """What was moved is undone; for a copy, whose files are others, the error says what to do."""
    apply(make_rollback(stores, 2), stores, **STOPPED)
    home, there = Path(query.store.location).parent, tmp_path / "there"
    there.mkdir()
    for name in (query.store.base_name, "_ckpt_undo"):
        copy(str(home / name), str(there / name))
    moved = Stores(Store.open(str(there / query.store.base_name)))
    if not is_undone:
        with pytest.raises(
            PlanError,
            match=rf"The change was made at {query.store.location}.* move the checkpoint and its directory _ckpt_undo here",
        ):
            make_undo(moved)
        return
    apply(make_undo(moved), moved, **STOPPED)
    assert read_all(moved.checkpoint) == query.files
