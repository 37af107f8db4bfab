"""What a person can ask of a reset: where to, exactly once, by whatever name a face has for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.option import fields_of, goal_names
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.reset.make import ResetRequest, make_reset
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.query.source import parse_item
from airflow_provider_ckpt.sources.goal import SkipSnapshot, SkipVersion, ToSnapshot, ToVersion, parse_goal
from airflow_provider_ckpt.sources.kafka.resolve_goal import KafkaAim
from airflow_provider_ckpt.sources.kafka.strategies import (
    ByDuration,
    FromFile,
    ShiftBy,
    ToCurrent,
    ToDatetime,
    ToEarliest,
    ToLatest,
    ToOffsets,
    parse_scope,
)
from airflow_provider_ckpt.storage.store import Store
from tests.changes.reset.kafka_query import KafkaQuery, broker_of

GOALS = {
    "to_earliest": (True, ToEarliest()),
    "to_latest": (True, ToLatest()),
    "to_current": (True, ToCurrent()),
    "to_datetime": (0, ToDatetime(0)),
    "by_duration": (1_000, ByDuration(1_000)),
    "shift_by": (0, ShiftBy(0)),
    "to_offsets": ("7", ToOffsets(7)),
    "from_csv": ("orders,0,5", FromFile({("orders", 0): 5})),
    "to_version": (0, ToVersion(0)),
    "to_snapshot": (5, ToSnapshot(5)),
    "skip_version": (0, SkipVersion(0)),
    "skip_snapshot": (5, SkipSnapshot(5)),
}


@pytest.mark.parametrize("name", GOALS)
def test_a_field_says_where_to(name):
    value, goal = GOALS[name]
    assert ResetRequest(**{name: value}).goal() == goal


def test_every_goal_that_there_is_can_be_asked_for():
    assert set(GOALS) == set(goal_names(ResetRequest).values())
    assert goal_names(ResetRequest).keys() == parse_goal.__kwdefaults__.keys() - {"called"}


@pytest.mark.parametrize(
    ("given", "found"), [({}, "none"), ({"to_latest": True, "skip_snapshot": 5}, "to_latest and skip_snapshot")]
)
def test_it_is_said_exactly_once(given, found):
    with pytest.raises(ValueError, match=f"give exactly one of to_earliest, .* skip_snapshot; given: {found}"):
        ResetRequest(**given).goal()


def test_what_is_moved_can_be_said():
    assert ResetRequest(topics=("orders:0,1",)).scope() == parse_scope(("orders:0,1",))


def test_the_form_has_every_goal():
    fields = fields_of(ResetRequest)
    assert [name for name in GOALS if fields[name].form is None] == []


def test_a_plan_is_made_with_all_that_was_said(tmp_path):
    query = KafkaQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(3):
        query.commit(batch_id)
    sink, stores = parse_sink("kafka"), Stores(query.store)
    asked = ResetRequest(source=parse_item("0=kafka:h:9092"), shift_by=-5, sink=sink, trigger="availableNow")
    aim = KafkaAim(broker_of(query), asked.goal(), asked.scope())
    made, wanted = replace(asked, aim=aim).plan(stores), make_reset(stores, "0", aim, sink=sink)
    assert (made.actions, made.effects, made.trigger) == (wanted.actions, wanted.effects, "availableNow")


def test_without_an_aim_nothing_is_met_or_planned(tmp_path):
    query = KafkaQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(3):
        query.commit(batch_id)
    stores, asked = Stores(query.store), ResetRequest(source=parse_item("0=kafka:h:9092"), shift_by=-5)
    plan = replace(asked, aim=KafkaAim(broker_of(query), asked.goal(), asked.scope())).plan(stores)
    for use in (lambda: asked.is_met_by(plan), lambda: asked.plan(stores)):
        with pytest.raises(PlanError, match="the aim of the reset is not known yet"):
            use()
    with pytest.raises(PlanError, match="no source was given to move"):
        ResetRequest(shift_by=-5).aimed(None)
    assert ResetRequest.of(plan, stores).is_met_by(plan)
