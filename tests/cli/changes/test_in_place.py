"""What the commands have in common that change a checkpoint in place."""

from __future__ import annotations

from dataclasses import fields

import pytest

from airflow_provider_ckpt.change.plan.kinds import KINDS, command_of
from airflow_provider_ckpt.cli import cli
from airflow_provider_ckpt.cli.changes.in_place import How

#: The commands that change a checkpoint where it is.
IN_PLACE = [command_of(kind) for kind, rules in KINDS.items() if rules.in_place]
SHARED = {"--execute", "--plan", "--plan-out", "--approved-by", "--accept-sink", "--undo-to", "--quiet-period"}
SHARED |= {"--break-lock", "--i-know-it-is-stopped", "--storage-option", "--json"}


@pytest.mark.parametrize("name", IN_PLACE)
def test_each_takes_the_same_options(name):
    assert {option for param in cli.commands[name].params for option in param.opts} >= SHARED


@pytest.mark.parametrize("name", IN_PLACE)
def test_how_it_is_carried_out_is_said_by_options_of_these_names(name):
    assert {param.name for param in cli.commands[name].params} >= {field.name for field in fields(How)}
