"""What a person can ask of a undo: the names of fields and options stay as users have typed them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from airflow_provider_ckpt.change.option import fields_of
from airflow_provider_ckpt.change.undo.make import UndoRequest
from airflow_provider_ckpt.errors import PlanError


def test_each_field_is_an_option_of_that_name():
    assert {name: field.opt.option for name, field in fields_of(UndoRequest).items()} == {
        "sink": "--sink",
        "undoes": "--undoes",
        "downstream": "--downstream",
        "trigger": "--trigger",
    }


def test_a_change_that_was_not_known_yet_is_not_taken_back():
    plan = SimpleNamespace(undoes="one")
    assert UndoRequest(undoes="one").is_met_by(plan)
    assert not UndoRequest(undoes="two").is_met_by(plan) and not UndoRequest().is_met_by(plan)
    with pytest.raises(PlanError, match="the change that is to be taken back is not known yet"):
        UndoRequest().decide(None)
