"""What a person can ask of a rollback: where to, exactly once."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.make_plan import Seen
from airflow_provider_ckpt.change.option import goal_names
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.rollback.goal import (
    BeforeDeploy,
    ToBackup,
    ToBatch,
    ToOffsets,
    ToTimestamp,
    ToWatermark,
    parse_target,
)
from airflow_provider_ckpt.changes.rollback.make import RollbackRequest, make_rollback
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.query.source import parse_by_id
from airflow_provider_ckpt.restart.bookmark import Bookmark
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery

BOOKMARK = Bookmark("c", "q", 3, 4, 5, {"0": "{}"})
GOALS = {
    "to_batch": (0, ToBatch(0)),
    "to_timestamp": (0, ToTimestamp(0)),
    "to_watermark": ("1970-01-01", ToWatermark(0)),
    "to_offsets": ('{"0": {"a": {"0": 5}}}', ToOffsets({"0": '{"a": {"0": 5}}'}, {"0": "kafka"})),
    "to_backup": ("s3://b/ID", ToBackup("s3://b", "ID")),
    "to_before_deploy": (BOOKMARK, BeforeDeploy(BOOKMARK)),
}


@pytest.mark.parametrize("name", GOALS)
def test_a_field_says_where_to(name):
    value, target = GOALS[name]
    found = RollbackRequest(**{name: value, "sources": parse_by_id({"0": "kafka", "1": ""})}).target()
    assert str(found).replace('": ', '":') == str(target).replace('": ', '":')


def test_every_target_that_there_is_can_be_asked_for():
    assert set(GOALS) == set(goal_names(RollbackRequest).values())
    assert goal_names(RollbackRequest).keys() == parse_target.__kwdefaults__.keys() - {"source_types", "called"}


@pytest.mark.parametrize(
    ("given", "found"), [({}, "none"), ({"to_batch": 5, "to_backup": "s3://b/ID"}, "to_batch and to_backup")]
)
def test_it_is_said_exactly_once_by_the_names_of_the_arguments(given, found):
    said = f"give exactly one of to_batch, .* to_before_deploy, which say where to roll back to; given: {found}$"
    with pytest.raises(ValueError, match=said):
        RollbackRequest(**given).require_sense()


def test_a_goal_that_was_not_known_yet_is_met_by_no_plan(tmp_path):
    query = FakeQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(4):
        query.commit(batch_id)
    stores = Stores(query.store)
    first = make_rollback(stores, 0)
    assert not RollbackRequest(to_batch=5).is_met_by(first)
    assert RollbackRequest(batch_id=0).is_met_by(first)
    asked = RollbackRequest(to_batch=0)
    with pytest.raises(PlanError, match="the batch of the rollback is not known yet"):
        asked.decide(Seen(stores, asked.observe(stores), asked.said))


def test_a_backup_names_the_root_of_its_own():
    places = [RollbackRequest(backup_root="s3://other", **goal).places for goal in ({"to_backup": "s3://b/ID"}, {})]
    assert [place["backups"] for place in places] == ["s3://b", "s3://other"]


NOT_TOGETHER = {
    "the log of no sink": ({"to_batch": 1, "trim_sink_log": True}, "--trim-sink-log needs --sink file:URI .*in a DAG"),
    "two roots": ({"to_backup": "s3://b/ID", "backup_root": "s3://other"}, "--to-backup already gives the root.*DAG"),
}


@pytest.mark.parametrize("case", NOT_TOGETHER)
def test_what_does_not_go_together_is_refused_for_every_face(case):
    said, problem = NOT_TOGETHER[case]
    with pytest.raises(ValueError, match=problem):
        RollbackRequest(**said).require_sense()
    RollbackRequest(to_backup="s3://b/ID", backup_root="s3://b/").require_sense()


def test_a_plan_is_made_with_all_that_was_said(tmp_path):
    query = FakeQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(4):
        query.commit(batch_id)
    sink, stores = parse_sink("kafka"), Stores(query.store)
    asked = RollbackRequest(to_batch=1, sink=sink, sources=parse_by_id({"0": "file"}), trigger="availableNow")
    made = asked.plan(stores)
    wanted = make_rollback(stores, ToBatch(1), sink=sink, sources={"0": "file"}, trigger="availableNow")
    assert (made.actions, made.effects, made.trigger) == (wanted.actions, wanted.effects, "availableNow")
