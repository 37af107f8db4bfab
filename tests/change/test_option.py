"""The fields of a request, from which each face is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated

import pytest

from airflow_provider_ckpt.change.option import Field, Form, Opt, fields_of, goal_names, goal_values

TO, CONFS = Opt("--to-batch BATCH_ID", "Keep this one.", "whole", goal="batch"), Opt("--conf", means="pairs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    to_batch: Annotated[int | None, TO, Form("Keep")] = None
    confs: Annotated[Mapping[str, str], CONFS] = field(default_factory=dict)
    trims: Annotated[bool, Opt("--trim")] = False


def test_a_field_has_its_option_its_form_and_its_default_in_order():
    assert list(fields_of(Asked).items()) == [
        ("to_batch", Field(TO, Form("Keep"), None)),
        ("confs", Field(replace(CONFS, many=True), None, {})),
        ("trims", Field(Opt("--trim", means="flag"), None, False)),
    ]
    assert (TO.option, TO.metavar, CONFS.metavar) == ("--to-batch", "BATCH_ID", None)


def test_a_goal_is_told_by_what_its_parser_calls_it():
    assert (goal_names(Asked), goal_values(Asked(to_batch=4))) == ({"batch": "to_batch"}, {"batch": 4})


@pytest.mark.parametrize(
    ("value", "wanted"), [(0, "at least 1"), (1, ""), (9, ""), (10, "at most 9"), (None, ""), ("10", "")]
)
def test_a_number_is_held_to_its_limits(value, wanted):
    assert Opt("--first", means="whole", least=1, most=9).outside(value) == wanted
    assert Opt("--first", means="whole").outside(value) == ""
