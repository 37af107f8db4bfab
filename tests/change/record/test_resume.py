"""A change that was killed on its way is completed as it was begun: what is said of it now is compared with its plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.changes.salvage.make import make_salvage
from airflow_provider_ckpt.changes.sources.make import make_source_change
from airflow_provider_ckpt.changes.sources.source_change import parse_change
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.report.tables import plan_tables
from airflow_provider_ckpt.storage.store import Store

STOPPED: dict[str, Any] = {"query_is_stopped": True, "quiet_s": 0}
SWAPPED = parse_change(["0=1", "1=0"], [])


def roll_back(stores: Stores, **said: Any) -> Plan:
    return make_rollback(stores, 2, **said)


def swap(stores: Stores, **said: Any) -> Plan:
    return make_source_change(stores, SWAPPED, **said)


def take_back(stores: Stores, **said: Any) -> Plan:
    return make_undo(stores, **said)


MAKERS: dict[str, Callable[..., Plan]] = {
    "rollback": roll_back,
    "salvage": make_salvage,
    "sources": swap,
    "undo": take_back,
}


def dies(done: int, total: int, name: str) -> None:
    raise InterruptedError(name)


@pytest.fixture(params=MAKERS)
def begun(request, golden) -> tuple[Stores, Callable[..., Plan], Plan]:
    """A change of a query into Kafka that was killed after its first step."""
    checkpoint = golden("two-sources")
    if request.param == "salvage":
        (checkpoint / "offsets" / "3").write_text("")
    stores, make = Stores(Store.open(str(checkpoint))), MAKERS[request.param]
    accepted = ("duplicated", "unknown")
    if request.param == "undo":
        apply(roll_back(stores, sink=parse_sink("kafka")), stores, **STOPPED, accept_sink=accepted)
    plan = make(stores, sink=parse_sink("kafka"), trigger="availableNow")
    with pytest.raises(InterruptedError):
        apply(plan, stores, **STOPPED, accept_sink=accepted, by="bob", on_step=dies)
    return stores, make, plan


@pytest.mark.parametrize("said", [{}, {"sink": parse_sink("kafka")}, {"trigger": "availableNow"}], ids=str)
def test_it_is_found_and_says_first_that_it_is_no_new_plan(begun, said):
    stores, make, plan = begun
    again = make(stores, **said)
    assert (again, again.plan_id) == (plan, plan.plan_id)
    assert f"it completes the {plan.called} to" in again.completes and "by bob and was interrupted" in again.completes
    (about, *_) = plan_tables(again)
    assert about.rows[0] == ("completes", again.completes) and again.shown()["completes"] == again.completes
    assert apply(again, stores, **STOPPED).status == "applied"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            {"sink": parse_sink("foreachBatch")},
            "begun with the sink kafka, .* cannot be completed with the sink foreac",
        ),
        ({"trigger": "once"}, "begun with the trigger availableNow, .* cannot be completed with the trigger once"),
    ],
    ids=["sink", "trigger"],
)
def test_what_differs_is_refused_with_the_words_of_both(begun, said, words):
    stores, make, _ = begun
    before = stores.checkpoint.find()
    with pytest.raises(PlanError, match=words) as refused:
        make(stores, **said)
    assert "Say the same as then, or nothing" in (refused.value.hint or "") and stores.checkpoint.find() == before


def test_an_effect_that_was_not_the_one_of_the_plan_is_not_accepted_for_it(begun):
    stores, make, plan = begun
    if not plan.to_accept:
        return
    with pytest.raises(PlanError, match=f"is {plan.to_accept[-1]}"):
        apply(make(stores), stores, **STOPPED, accept_sink="skipped")


def test_a_log_that_was_left_alone_is_not_trimmed_half_way(golden_home):
    home = golden_home("file-to-parquet-12")
    stores = Stores(Store.open(str(home / "checkpoint")), Store.open(str(home / "output")))
    with pytest.raises(InterruptedError):
        apply(make_rollback(stores, 9), stores, **STOPPED, accept_sink="skipped", on_step=dies)
    with pytest.raises(PlanError, match="log of the sink left as it is, .* with the log of the sink trimmed"):
        make_rollback(stores, 9, trim_sink_log=True)
