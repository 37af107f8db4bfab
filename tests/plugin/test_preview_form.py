"""The form of a preview: what the DAGs take, typed by people."""

from __future__ import annotations

import importlib

import pytest

from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.plugin.preview_form import FIELDS, KINDS, has_goal, read_form

#: Params of the DAGs that say nothing of the plan.
OTHERS = {"query", "checkpoint", "checkpoint_conn_id", "expected_plan", "application", "application_args", "confs"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_fields_are_the_params_of_the_dag(kind):
    module = importlib.import_module(f"airflow_provider_ckpt.dags.{kind}")
    names = {field.name for field in FIELDS[kind]}
    assert names == {*getattr(module, f"{kind}_dag")().params} - OTHERS == {*module.GOAL}


READ = {
    "a number": ("rollback", {"to_batch": " 41 "}, {"to_batch": 41}),
    "batch 0": ("rollback", {"to_batch": "0"}, {"to_batch": 0}),
    "what is empty": ("rollback", {"to_batch": "1", "to_timestamp": " ", "sink": ""}, {"to_batch": 1}),
    "offsets": ("rollback", {"to_offsets": '{"0": {"a": {"0": 5}}}'}, {"to_offsets": {"0": {"a": {"0": 5}}}}),
    "a number of 64 bits": ("reset", {"to_offsets": "9223372036854775807"}, {"to_offsets": 9223372036854775807}),
    "a snapshot": ("reset", {"to_snapshot": "8271638172635123456"}, {"to_snapshot": "8271638172635123456"}),
    "a checked box": ("reset", {"to_latest": "true"}, {"to_latest": True}),
    "a box that is not": ("reset", {"to_latest": "false"}, {}),
    "topics": ("reset", {"topics": "a:0,1 b"}, {"topics": ["a:0,1", "b"]}),
    "topics of a link": ("reset", {"topics": '["a", "b"]'}, {"topics": ["a", "b"]}),
    "what is no field": ("rollback", {"plan": "x", "to_latest": "true"}, {}),
}


@pytest.mark.parametrize("case", READ)
def test_what_was_typed_is_what_the_dag_takes(case):
    kind, typed, wanted = READ[case]
    assert read_form(kind, typed) == wanted


@pytest.mark.parametrize(
    ("kind", "typed"),
    [
        ("rollback", {"to_batch": "x"}),
        ("rollback", {"to_batch": "9" * 30}),
        ("rollback", {"to_offsets": "{"}),
        ("reset", {"shift_by": "1.5"}),
        ("rollback", {"to_batch": "-1"}),
        ("reset", {"topics": "[1"}),
    ],
)
def test_what_makes_no_sense_is_refused_by_the_name_of_its_field(kind, typed):
    with pytest.raises(PlanError, match=rf"\({next(iter(typed))}\) is (a whole number|at least 0|JSON), not "):
        read_form(kind, typed)


def test_a_sink_alone_is_no_goal():
    assert not has_goal("rollback", {"sink": "kafka"}) and has_goal("rollback", {"to_batch": 0})
