"""Changes in place: who meets whom, and what is there before."""

from __future__ import annotations

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.undo.make import make_undo
from tests.interleavings.actors import changing, rolling_back, running, undoing
from tests.interleavings.lake import BATCHES, Lake
from tests.interleavings.search import Scenario


def rollback_alone(kind: str) -> Scenario:
    lake = Lake(kind)
    plan = lake.rollback_plan(0)
    return lake.scenario("rollback", changing(kind, "ann", plan), must_start=True, recorded=plan)


def undo_alone(kind: str) -> Scenario:
    lake = Lake(kind)
    before = lake.files
    lake.roll_back()
    plan = make_undo(Stores(lake.checkpoint))
    parts = (changing(kind, "ann", plan),)
    return lake.scenario("undo", *parts, must_start=True, recorded=plan, given_back=before)


def rollback_and_query(kind: str) -> Scenario:
    lake = Lake(kind)
    parts = changing(kind, "ann", lake.rollback_plan(1)), running(kind, "query", 2, rows=7)
    return lake.scenario("rollback, query", *parts)


def undo_and_query(kind: str) -> Scenario:
    lake = Lake(kind)
    lake.roll_back(1)
    plan = make_undo(Stores(lake.checkpoint))
    return lake.scenario("undo, query", changing(kind, "ann", plan), running(kind, "query", 2, rows=7))


def rollback_and_rollback(kind: str) -> Scenario:
    lake = Lake(kind)
    ann, bob = (lake.rollback_plan(target) for target in (0, 1))
    parts = changing(kind, "ann", ann), changing(kind, "bob", bob)
    return lake.scenario("rollback, second rollback", *parts, must_start=True)


def undo_and_rollback(kind: str) -> Scenario:
    lake = Lake(kind)
    lake.roll_back(1)
    ann, bob = make_undo(Stores(lake.checkpoint)), lake.rollback_plan(0)
    parts = changing(kind, "ann", ann), changing(kind, "bob", bob)
    return lake.scenario("undo, second rollback", *parts, must_start=True)


def crash_and_undo(kind: str) -> Scenario:
    lake = Lake(kind)
    parts = changing(kind, "ann", lake.rollback_plan(0)), undoing(kind, "bob", after_crash_of="ann")
    return lake.scenario("rollback, crash, undo", *parts, crashes=("ann",), must_start=True, after_crash=lake.files)


def crash_and_again(kind: str) -> Scenario:
    lake = Lake(kind)
    plan = lake.rollback_plan(0)
    after = {name: data for name, data in lake.files.items() if name not in {item.name for item in plan.actions}}
    parts = changing(kind, "ann", plan), changing(kind, "bob", plan, after_crash_of="ann")
    return lake.scenario("rollback, crash, again", *parts, crashes=("ann",), must_start=True, after_crash=after)


def crash_and_two_rescuers(kind: str) -> Scenario:
    lake = Lake(kind)
    plan = lake.rollback_plan(0)
    rescuers = (changing(kind, name, plan, after_crash_of="ann") for name in ("bob", "eve"))
    parts = changing(kind, "ann", plan), *rescuers
    return lake.scenario("rollback, crash, two that complete it", *parts, crashes=("ann",), must_start=True)


#: Where a reset goes.
_ROW = 45


def reset_alone(kind: str) -> Scenario:
    lake = Lake(kind)
    lake.plan_batch()
    plan = lake.reset_plan(_ROW)
    return lake.scenario("reset", changing(kind, "ann", plan), must_start=True, moved=(BATCHES, _ROW))


def reset_and_query(kind: str) -> Scenario:
    lake = Lake(kind)
    parts = changing(kind, "ann", lake.reset_plan(_ROW)), running(kind, "query", 2, rows=7)
    return lake.scenario("reset, query", *parts, moved=(BATCHES, _ROW))


def reset_and_rollback(kind: str) -> Scenario:
    lake = Lake(kind)
    parts = changing(kind, "ann", lake.reset_plan(_ROW)), changing(kind, "bob", lake.rollback_plan(1))
    return lake.scenario("reset, second operator's rollback", *parts, must_start=True, moved=(BATCHES, _ROW))


def reset_crash_and_undo(kind: str) -> Scenario:
    lake = Lake(kind)
    lake.plan_batch()
    parts = changing(kind, "ann", lake.reset_plan(_ROW)), undoing(kind, "bob", after_crash_of="ann")
    facts = {"must_start": True, "moved": (BATCHES, _ROW), "after_crash": lake.files}
    return lake.scenario("reset, crash, undo", *parts, crashes=("ann",), **facts)


def crash_and_undo_with_checksums(kind: str) -> Scenario:
    lake = Lake(kind)
    lake.add_checksums()
    parts = changing(kind, "ann", lake.rollback_plan(1)), undoing(kind, "bob", after_crash_of="ann")
    name = "rollback with checksum files, crash, undo"
    return lake.scenario(name, *parts, crashes=("ann",), must_start=True, after_crash=lake.files)


def reset_with_checksums(kind: str) -> Scenario:
    lake = Lake(kind)
    lake.plan_batch()
    lake.add_checksums()
    parts = changing(kind, "ann", lake.reset_plan(_ROW)), undoing(kind, "bob", after_crash_of="ann")
    facts = {"must_start": True, "moved": (BATCHES, _ROW), "after_crash": lake.files}
    return lake.scenario("reset with checksum files, crash, undo", *parts, crashes=("ann",), **facts)


def undo_and_undo(kind: str) -> Scenario:
    lake = Lake(kind)
    before = lake.files
    lake.roll_back(1)
    plan = make_undo(Stores(lake.checkpoint))
    parts = changing(kind, "ann", plan), changing(kind, "bob", plan)
    return lake.scenario("undo, second undo", *parts, must_start=True, given_back=before)


def undo_crash_and_again(kind: str) -> Scenario:
    lake = Lake(kind)
    before = lake.files
    lake.roll_back(1)
    parts = undoing(kind, "ann"), undoing(kind, "bob", after_crash_of="ann")
    return lake.scenario("undo, crash, again", *parts, crashes=("ann",), must_start=True, after_crash=before)


def undo_of_reset_and_query(kind: str) -> Scenario:
    lake = Lake(kind)
    lake.carry_out(lake.reset_plan(_ROW))
    parts = undoing(kind, "ann"), running(kind, "query", 1, rows=7)
    return lake.scenario("undo of a reset, query", *parts, moved=(BATCHES, _ROW))


def query_crash_and_rollback(kind: str) -> Scenario:
    lake = Lake(kind)
    parts = running(kind, "query", 2, rows=7), rolling_back(kind, "ann", 1, after_crash_of="query")
    return lake.scenario("query, crash, rollback", *parts, crashes=("query",))


def query_crash_and_undo(kind: str) -> Scenario:
    lake = Lake(kind)
    lake.roll_back(1)
    parts = running(kind, "query", 2, rows=7), undoing(kind, "ann", after_crash_of="query")
    return lake.scenario("query after a rollback, crash, undo", *parts, crashes=("query",))


def rollback_crash_and_query(kind: str) -> Scenario:
    lake = Lake(kind)
    parts = changing(kind, "ann", lake.rollback_plan(0)), running(kind, "query", 2, rows=7, after_crash_of="ann")
    return lake.scenario("rollback, crash, query", *parts, crashes=("ann",))


def rollback_rollback_and_query(kind: str) -> Scenario:
    lake = Lake(kind)
    ann, bob = (lake.rollback_plan(target) for target in (0, 1))
    parts = changing(kind, "ann", ann), changing(kind, "bob", bob), running(kind, "query", 1, rows=7)
    return lake.scenario("rollback, second rollback, query", *parts)


def rollback_query_and_undo(kind: str) -> Scenario:
    lake = Lake(kind)
    parts = changing(kind, "ann", lake.rollback_plan(1)), running(kind, "query", 1, rows=7), undoing(kind, "bob")
    return lake.scenario("rollback, query, undo", *parts)
