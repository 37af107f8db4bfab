"""The arguments of a task, as templates leave them, are the fields of a request."""

from __future__ import annotations

import inspect
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_ckpt.change.option import fields_of
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.reset.make import ResetRequest
from airflow_provider_ckpt.changes.rollback.make import RollbackRequest
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.operators import checkpoint as operators
from airflow_provider_ckpt.operators.changes.asked import (
    asked_of,
    require_beside,
    require_request_flags,
)
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.query.source import parse_item
from airflow_provider_ckpt.sinks.effects import SinkEffect

pytestmark = pytest.mark.airflow
NOTHING = dict.fromkeys(fields_of(ResetRequest)) | {"wait_for_batch": "1m"}
FLAGS = dict.fromkeys(("to_earliest", "to_latest", "to_current", "state_will_see_rows_again", "fence"), False)


def asked(**arguments: Any) -> ResetRequest:
    return asked_of(SimpleNamespace(**NOTHING | FLAGS | arguments), ResetRequest)


READ = {
    "nothing": ({"shift_by": "None", "sink": "", "topics": ()}, {}),
    "a number": ({"skip_snapshot": "8271638172635123456"}, {"skip_snapshot": 8271638172635123456}),
    "a flag": ({"to_latest": "True"}, {"to_latest": True}),
    "a time": ({"to_datetime": "1970-01-01"}, {"to_datetime": 0}),
    "a duration": ({"by_duration": 36}, {"by_duration": 36_000}),
    "offsets": ({"to_offsets": '{"a": {"0": 5}}'}, {"to_offsets": {"a": {"0": 5}}}),
    "a sink": ({"sink": "KAFKA"}, {"sink": parse_sink("kafka")}),
    "a source, whose type may be in any case": (
        {"source": "0=Kafka:h:9092"},
        {"source": parse_item("0=kafka:h:9092")},
    ),
    "one topic": ({"topics": "orders:0,1"}, {"topics": ("orders:0,1",)}),
    "a pause": ({"wait_for_batch": "2m"}, {"wait_for_batch": 120}),
}


@pytest.mark.parametrize("case", READ)
def test_an_argument_is_read_by_what_it_means(case):
    arguments, fields = READ[case]
    assert asked(**arguments) == ResetRequest(**fields)


@pytest.mark.parametrize(
    "arguments", [{"shift_by": "1.5"}, {"from_csv": 7}, {"sink": 7}, {"source": "kafka"}, {"topics": 7}], ids=str
)
def test_what_makes_no_sense_is_refused_by_the_name_of_the_argument(arguments):
    with pytest.raises(CheckpointError, match=f"^{next(iter(arguments))} must be"):
        asked(**arguments)


def test_a_flag_is_held_where_nothing_is_planned():
    with pytest.raises(CheckpointError, match="to_earliest must be True or False"):
        require_request_flags(SimpleNamespace(**NOTHING | FLAGS | {"to_earliest": "soon"}), ResetRequest)


@pytest.mark.parametrize("name", [name for name in operators.__all__ if hasattr(getattr(operators, name), "request")])
def test_templates_render_what_says_what_to_do(name):
    kind = getattr(operators, name)
    asked = {*fields_of(kind.request())} - {"fence", "wait_for_batch", "new_query_id"}
    of_base = {*inspect.getattr_static(kind.__mro__[1], "template_fields")}
    assert len(kind.template_fields) == len({*kind.template_fields})
    assert {*kind.template_fields} - of_base <= asked <= {*kind.template_fields}


PLAN = Plan(
    kind="rollback",
    location="/data/ck",
    query_id="q",
    batch_id=3,
    planned_at_ms=0,
    requirements=(),
    actions=(),
    effects=(SinkEffect("file:/data/out", "exact", ""),),
)
BESIDE = {
    "a goal": ({"to_batch": 3}, "to_batch"),
    "the batch zero": ({"to_batch": "0"}, "to_batch"),
    "another sink": ({"sink": "kafka", "downstream": "['/x']"}, "sink, downstream"),
    "another trigger": ({"trigger": "realTime"}, "trigger"),
    "what was rendered to nothing": ({"to_batch": "", "to_timestamp": "None", "sink": "", "sources": "{}"}, ""),
    "the same sink": ({"sink": "file:/data/out", "trim_sink_log": "False"}, ""),
    "how it is carried out": ({"wait_for_batch": "5m"}, ""),
}


@pytest.mark.parametrize("case", BESIDE)
def test_beside_a_plan_an_argument_says_the_same_or_is_refused(case):
    arguments, refused = BESIDE[case]
    flags = {"trim_sink_log": False, "fence": False, "wait_for_batch": "1m"}
    task = SimpleNamespace(**dict.fromkeys(fields_of(RollbackRequest)) | flags | arguments)
    with pytest.raises(CheckpointError) if refused else nullcontext() as said:
        require_beside(task, RollbackRequest, PLAN)
    assert not refused or str(said.value) == f"plan gives the whole plan, so leave out {refused}"
