"""One function carries out the plans of every kind, and a reader can follow the plan through it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.rollback.make import make_rollback
from airflow_provider_ckpt.storage.store import Store
from tests.change.plans import RESTORE
from tests.fake_query import FakeQuery

#: The most functions and methods that get the plan as an argument, or that a reader has to follow.
MOST = 15
STOPPED: dict[str, Any] = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "unknown"}


@pytest.fixture
def stores(tmp_path) -> Stores:
    store = Store.open(str(tmp_path / "checkpoint"))
    query = FakeQuery(store)
    for batch_id in range(4):
        query.commit(batch_id)
    return Stores(store)


def given(value: object, call: Callable[[], object]) -> dict[str, None]:
    """The functions of the package that get a value as an argument during a call, in the order of the first time."""
    found: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        ours = frame.f_globals.get("__name__", "").startswith("airflow_provider_ckpt.")
        if event == "call" and ours and any(frame.f_locals.get(name) is value for name in arguments):
            found.setdefault(f"{frame.f_globals['__name__'].partition('.')[2]}.{code.co_qualname}")

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return {name: None for name in found if not name.startswith(f"change.plan.{Plan.__name__}.")}


def test_the_way_of_a_plan_through_apply_is_short(stores):
    """Its own properties aside: they are the plan itself."""
    rollback = make_rollback(stores, 1)
    way = given(rollback, lambda: apply(rollback, stores, **STOPPED))
    assert next(iter(way)) == "change.apply.apply"
    assert len(way) <= MOST, list(way)
    undo = make_undo(stores)
    way = given(undo, lambda: apply(undo, stores, **STOPPED))
    assert len(way) <= MOST, list(way)


def test_a_plan_that_is_not_carried_out_in_place_is_refused_with_nothing_done(stores):
    with pytest.raises(PlanError, match="a restore is not carried out in place"):
        apply(RESTORE, stores, **STOPPED)
    assert stores.record(RESTORE.plan_id).find() == {}
