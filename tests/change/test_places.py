"""The places of a change, opened from what a face was given and from what a plan names."""

from __future__ import annotations

import shlex

import pytest

from airflow_provider_ckpt.change.open_sinks import open_sinks
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.storage.store import Store


def places(stores: Stores) -> dict[str, str | None]:
    named = {"sink": stores.sink, "undo": stores.undo, "backups": stores.backups}
    return {"checkpoint": stores.checkpoint.location, **{key: at and at.location for key, at in named.items()}}


def plan(kind: str, sink: str = "kafka", source: str = "") -> Plan:
    return Plan(kind, "/c", "", 3, 0, (), (), effects=(SinkEffect(sink, "unknown", ""),), source=source)


NOTHING = {"checkpoint": "/c", "sink": None, "undo": None, "backups": None}


@pytest.mark.parametrize(
    ("given", "opened"),
    [
        ({}, {}),
        ({"undo": "", "backups": ""}, {}),
        ({"sink": parse_sink("kafka")}, {}),
        ({"sink": parse_sink("file:/out")}, {"sink": "/out"}),
        ({"undo": "/undo", "backups": "/b"}, {"undo": "/undo", "backups": "/b"}),
    ],
)
def test_places_that_were_given_are_opened(given, opened):
    assert places(Stores.of("/c", Store.open, **given)) == {**NOTHING, **opened}


@pytest.mark.parametrize(
    ("given", "named", "opened"),
    [
        ({}, plan("rollback"), {}),
        ({}, plan("rollback", "file:/out", "/b"), {"sink": "/out", "backups": "/b"}),
        ({}, plan("undo", "file:/out", "/b"), {"sink": "/out"}),
        ({"backups": "/own", "sink": parse_sink("file:/mine")}, plan("rollback", "file:/out", "/b"), {"backups": "/own", "sink": "/mine"}),
    ],
)  # fmt: skip
def test_a_plan_names_what_was_not_given(given, named, opened):
    stores = Stores.of("/c", Store.open, **given).for_plan(named, Store.open)
    assert places(stores) == {**NOTHING, **opened}


def test_sinks_are_opened_where_they_have_a_directory():
    opened = open_sinks([parse_sink("file:/out"), parse_sink("kafka")], Store.open)
    assert [store and store.location for _, store in opened] == ["/out", None]


def test_the_command_that_takes_a_change_back_says_where_its_record_is():
    checkpoint, records = (Store.open(place) for place in ("/data/my ck", "/data/it's"))
    assert Stores(checkpoint).undo_command == "ckpt undo '/data/my ck'"
    command = shlex.split(Stores(checkpoint, undo=records).undo_command)
    assert command == ["ckpt", "undo", "/data/my ck", "--undo-to", "/data/it's"]
