"""The kinds of plans: each says what its plans require, and names a module that carries them out."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from airflow_provider_ckpt.change.executor import InPlace, executor_of
from airflow_provider_ckpt.change.plan.actions import Action
from airflow_provider_ckpt.change.plan.kinds import KINDS, Kind, command_of
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.plan.requirements import Requirement as AnyRequirement
from airflow_provider_ckpt.change.plan.requirements import WriterStopped
from airflow_provider_ckpt.cli import MODULES
from tests.change.plans import REPARTITION, RESET, ROLLBACK, UNDO
from tests.package import rooms_loaded_by

IN_PLACE = {kind: rules for kind, rules in KINDS.items() if rules.in_place}


def test_every_kind_has_its_rules_and_no_other():
    assert set(KINDS) == set(get_args(Kind))


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_of_a_kind_is_there(kind):
    assert command_of(kind) in MODULES


@pytest.mark.parametrize("kind", KINDS)
def test_requirements_and_steps_are_of_the_closed_sets(kind):
    rules = KINDS[kind]
    assert {*rules.requires, *rules.may_require} <= set(get_args(AnyRequirement))
    assert rules.steps and set(rules.steps) <= set(get_args(Action))
    assert not {*rules.requires} & {*rules.may_require}


@pytest.mark.parametrize("kind", IN_PLACE)
def test_a_change_in_place_has_an_executor_and_needs_a_stopped_query(kind):
    assert issubclass(executor_of(replace(ROLLBACK, kind=kind)), InPlace)
    assert WriterStopped in KINDS[kind].requires


@pytest.mark.parametrize("plan", [ROLLBACK, UNDO, REPARTITION, RESET], ids=lambda plan: plan.kind)
def test_an_undo_names_what_it_takes_back_and_cannot_be_undone(plan: Plan):
    assert plan.rules.takes_back == bool(plan.undoes)
    assert plan.rules.takes_back != plan.rules.can_be_undone


def test_what_carries_out_an_undo_does_not_load_the_kind_that_it_undoes():
    assert "rollback" not in rooms_loaded_by("import airflow_provider_ckpt.change.undo.put_back")
