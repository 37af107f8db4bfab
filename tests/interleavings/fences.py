"""Fences: who meets whom, and what is there before."""

from __future__ import annotations

from tests.interleavings.actors import backing_up, changing, fencing, running, undoing
from tests.interleavings.lake import Lake
from tests.interleavings.search import Scenario


def _in_flight(kind: str) -> Lake:
    lake = Lake(kind)
    lake.plan_batch()
    return lake


def _fenced(kind: str) -> Lake:
    lake = Lake(kind)
    lake.fence()
    return lake


def fence_beside_dead_query(kind: str) -> Scenario:
    """The batch in flight is never committed, so nothing may be left of the fence."""
    return _in_flight(kind).scenario("fence beside a dead query", fencing(kind, "ann"), refused_is_clean=True)


def fence_and_query(kind: str) -> Scenario:
    return Lake(kind).scenario("fence, query", fencing(kind, "ann"), running(kind, "query", 2, rows=7))


def fence_and_query_in_flight(kind: str) -> Scenario:
    parts = fencing(kind, "ann"), running(kind, "query", 2, rows=7)
    return _in_flight(kind).scenario("fence, query with a batch in flight", *parts)


def fence_and_rollback(kind: str) -> Scenario:
    lake = Lake(kind)
    parts = fencing(kind, "ann"), changing(kind, "bob", lake.rollback_plan(1))
    return lake.scenario("fence, second operator's rollback", *parts, must_start=True)


def fence_and_fence(kind: str) -> Scenario:
    return _in_flight(kind).scenario("fence, second fence", fencing(kind, "ann"), fencing(kind, "bob"))


def fence_and_backup(kind: str) -> Scenario:
    return Lake(kind).scenario("fence, backup", fencing(kind, "ann"), backing_up(kind, "bob"))


def fence_crash_and_fence(kind: str) -> Scenario:
    parts = fencing(kind, "ann"), fencing(kind, "bob", after_crash_of="ann")
    judged = {"crashes": ("ann",), "refused_is_clean": True}
    return _in_flight(kind).scenario("fence, crash, again", *parts, **judged)


def fence_crash_and_undo(kind: str) -> Scenario:
    lake = _in_flight(kind)
    parts = fencing(kind, "ann"), undoing(kind, "bob", after_crash_of="ann")
    return lake.scenario("fence, crash, undo", *parts, crashes=("ann",), after_crash=lake.files)


def fence_crash_and_query(kind: str) -> Scenario:
    parts = fencing(kind, "ann"), running(kind, "query", 2, rows=7, after_crash_of="ann")
    return Lake(kind).scenario("fence, crash, query", *parts, crashes=("ann",))


def undo_of_fence_and_query(kind: str) -> Scenario:
    parts = undoing(kind, "ann"), running(kind, "query", 2, rows=7)
    return _fenced(kind).scenario("undo of a fence, query", *parts)


def fenced_rollback_and_query(kind: str) -> Scenario:
    lake = _fenced(kind)
    parts = changing(kind, "ann", lake.rollback_plan(1, fenced=True)), running(kind, "query", 2, rows=7)
    return lake.scenario("rollback behind a fence, query", *parts)


def query_crash_fence_and_query(kind: str) -> Scenario:
    first, second = (
        running(kind, name, 2, rows=7, after_crash_of=after) for name, after in (("query", ""), ("again", "query"))
    )
    parts = first, fencing(kind, "ann", after_crash_of="query"), second
    return Lake(kind).scenario("query, crash, fence, query", *parts, crashes=("query",))


def fence_query_and_rollback(kind: str) -> Scenario:
    lake = Lake(kind)
    parts = fencing(kind, "ann"), running(kind, "query", 1, rows=7), changing(kind, "bob", lake.rollback_plan(1))
    return lake.scenario("fence, query, rollback", *parts)
