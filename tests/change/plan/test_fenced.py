"""A change behind a fence needs no word; the entry of the fence is there until the last step but one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.fence.find import find_fence, required_fence
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.actions import Close, Delete, Open, Replace
from airflow_provider_ckpt.change.plan.plan import Plan, plan_from_dict
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.fence.make import make_fence
from airflow_provider_ckpt.changes.fence.put_fence import put_fence
from airflow_provider_ckpt.changes.reset.make import make_reset
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.codec import offset_log
from airflow_provider_ckpt.codec.offset_log import CLOSING
from airflow_provider_ckpt.errors import CheckpointBusyError, PlanError, StalePlanError
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.sources.kafka.resolve_goal import KafkaAim
from airflow_provider_ckpt.sources.kafka.strategies import ShiftBy
from airflow_provider_ckpt.storage.store import Store
from tests.changes.reset.kafka_query import KafkaQuery, broker_of
from tests.fake_query import FakeQuery, after_rollback, read_all
from tests.faults import Fault, FaultyStore, Kill, calls_to_fail

BATCHES, KEEP = 4, 1
FENCE, BEHIND = f"offsets/{BATCHES}", f"offsets/{BATCHES + 1}"
NO_WORD = {"quiet_s": 0, "accept_sink": "unknown duplicated skipped"}
WORD = {**NO_WORD, "query_is_stopped": True}


def fenced(place: Store) -> FakeQuery:
    query = FakeQuery(place)
    for batch_id in range(BATCHES):
        query.commit(batch_id)
    put_fence(Stores(place), settle_s=0)
    return query


def roll_back(place: Store) -> Plan:
    """What the command does: fence, plan behind the fence, carry it out without a word."""
    stores = Stores(place)
    plan = make_rollback(stores, KEEP, fenced=find_fence(stores) is not None)
    apply(plan, stores, **NO_WORD)
    return plan


@pytest.fixture(params=["local", pytest.param("s3", marks=[pytest.mark.s3, pytest.mark.exhaustive])])
def opened(request, tmp_path):
    if request.param == "s3":
        return request.getfixturevalue("s3_store")
    return lambda name: Store.open(str(tmp_path / name))


def test_a_rollback_behind_a_fence_needs_no_word_and_comes_back(opened):
    place = opened("orders")
    query = fenced(place)
    before = read_all(place)
    plan = roll_back(place)
    assert read_all(place) == after_rollback(query.files, KEEP)
    assert not plan.needs_stopped_query and plan_from_dict(plan.to_dict()) == plan
    first, *_, fence, last = plan.actions
    assert (first, last) == (Close(BEHIND), Open(BEHIND))
    assert isinstance(fence, Delete) and fence.name == FENCE
    assert "nothing holds a query afterwards that was idle" in " ".join(plan.warnings)
    apply(make_undo(Stores(place)), Stores(place), **WORD)
    assert read_all(place) == before
    assert find_fence(Stores(place)) is not None
    apply(make_undo(Stores(place)), Stores(place), **WORD)
    assert read_all(place) == query.files


def test_without_the_fence_it_is_refused(tmp_path):
    place = Store.open(str(tmp_path / "orders"))
    query = fenced(place)
    plan = make_rollback(Stores(place), KEEP, fenced=True)
    place.delete(FENCE)
    with pytest.raises(StalePlanError):
        apply(plan, Stores(place), **NO_WORD)
    assert read_all(place) == query.files
    with pytest.raises(PlanError, match="not fenced") as told:
        make_rollback(Stores(place), KEEP, fenced=True)
    assert "ckpt fence" in (told.value.hint or "")
    with pytest.raises(CheckpointBusyError, match="statement that the query is stopped"):
        apply(make_rollback(Stores(place), KEEP), Stores(place), **NO_WORD)


def test_a_query_that_has_passed_the_fence_makes_the_plan_stale(tmp_path):
    place = Store.open(str(tmp_path / "orders"))
    query = fenced(place)
    plan = make_rollback(Stores(place), KEEP, fenced=True)
    query.files[FENCE] = place.read(FENCE)
    query.commit(BATCHES)
    before = read_all(place)
    with pytest.raises(StalePlanError):
        apply(plan, Stores(place), **NO_WORD)
    assert read_all(place) == before


def killed(home: Path, at_most: int) -> Iterator[tuple[int, Store, FakeQuery]]:
    """A query whose rollback behind a fence was killed, each time at another call of its storage."""
    place = FaultyStore.over(str(home / "counted" / "orders"), Fault())
    fenced(place)
    place.fault = counted = Fault()
    roll_back(place)
    for at in calls_to_fail(counted.calls, at_most):
        place = FaultyStore.over(str(home / f"call-{at}" / "orders"), Fault())
        query = fenced(place)
        if (child := os.fork()) == 0:
            place.fault = Kill(at)
            roll_back(place)
            os._exit(0)
        os.waitpid(child, 0)
        yield at, place, query


def is_closed_or_sound(place: Store, files: dict[str, bytes]) -> bool:
    """Spark refuses to start, or starts from a batch with all that is before it."""
    logs = {log: max(int(name.rpartition("/")[2]) for name in place.ls(log)[0]) for log in ("offsets", "commits")}
    if place.read(f"offsets/{logs['offsets']}") == CLOSING:
        return True
    whole = read_all(place)
    kept = {**after_rollback(files, KEEP)}
    return whole == kept or whole.items() >= files.items()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_rollback_killed_at_any_call_is_closed_and_the_same_command_completes_it(tmp_path):
    for at, place, query in killed(tmp_path, 10):
        assert is_closed_or_sound(place, query.files), at
        roll_back(place)
        assert read_all(place) == after_rollback(query.files, KEEP), at
        while any(item.state == "applied" and item.plan.kind != "undo" for item in journal.history(place)):
            apply(make_undo(Stores(place)), Stores(place), **WORD)
        assert read_all(place) == query.files, at


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_rollback_killed_at_any_call_is_taken_back(tmp_path):
    for at, place, query in killed(tmp_path, 8):
        while True:
            try:
                plan = make_undo(Stores(place))
            except PlanError as error:
                assert "no change that can be undone" in error.message, at
                break
            apply(plan, Stores(place), **WORD, break_lock=True)
        assert read_all(place) == query.files, at


# --- resets ---------------------------------------------------------------------------------------------------------


def reset_query(place: Store) -> KafkaQuery:
    query = KafkaQuery(place, sources=2)
    for batch_id in range(BATCHES):
        query.commit(batch_id)
    put_fence(Stores(place), settle_s=0)
    return query


def reset(query: KafkaQuery, **options: bool) -> Plan:
    stores = Stores(query.store)
    aim = KafkaAim(broker_of(query), ShiftBy(-5))
    plan = make_reset(stores, "0", aim, sink=parse_sink("kafka"), fenced=find_fence(stores) is not None)
    apply(plan, stores, **NO_WORD, **options)
    return plan


def ends(place: Store, batch_id: int) -> tuple[object, ...]:
    return offset_log.decode(place.read(f"offsets/{batch_id}"), f"offsets/{batch_id}").offsets


def test_a_reset_behind_a_fence_gives_both_entries_the_new_offsets_and_keeps_the_fence(opened):
    query = reset_query(opened("orders"))
    place, stores = query.store, Stores(query.store)
    before, old = read_all(place), ends(place, BATCHES - 1)
    plan = reset(query)
    assert [type(action) for action in plan.actions] == [Close, Replace, Replace, Open]
    assert ends(place, BATCHES) == ends(place, BATCHES - 1) != old
    assert ends(place, BATCHES)[1] == old[1], "the other source is where it was"
    assert find_fence(stores) is not None and make_fence(stores).actions[0].name == FENCE
    assert put_fence(stores, settle_s=0)[1].status == "already_applied"
    assert not place.ls("offsets")[0].keys() & {BEHIND}
    apply(make_undo(stores), stores, **WORD)
    assert read_all(place) == before
    apply(make_undo(stores), stores, **WORD)
    assert read_all(place) == query.files


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_reset_killed_at_any_call_is_closed_or_whole_and_the_same_command_completes_it(tmp_path):
    query = reset_query(FaultyStore.over(str(tmp_path / "counted" / "orders"), Fault()))
    query.store.fault = counted = Fault()
    reset(query)
    after = logs_of(query.store)
    for at in calls_to_fail(counted.calls, 10):
        query = reset_query(FaultyStore.over(str(tmp_path / f"call-{at}" / "orders"), Fault()))
        before = logs_of(query.store)
        if (child := os.fork()) == 0:
            query.store.fault = Kill(at)
            reset(query)
            os._exit(0)
        os.waitpid(child, 0)
        left = logs_of(query.store)
        assert left in (before, after) or left.get(BEHIND) == CLOSING, at
        if left != after:
            reset(query, break_lock=True)
        assert logs_of(query.store) == after, at


def logs_of(place: Store) -> dict[str, bytes]:
    return {name: data for name, data in read_all(place).items() if name.startswith("offsets/")}


def test_a_fence_that_was_required_and_is_another_one_now_is_refused(tmp_path):
    query = reset_query(Store.open(str(tmp_path / "orders")))
    before = required_fence(Stores(query.store))
    query.store.write(FENCE, query.store.read(FENCE) + b" ")
    facts = {"name": before.name, "batch": before.batch_id}
    assert facts == {"name": FENCE, "batch": BATCHES}
    assert find_fence(Stores(query.store)) is None or required_fence(Stores(query.store)) != before
