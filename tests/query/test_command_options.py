"""The options of commands that a query file stands for."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.query.command_options import _OF_COMMANDS, _OPTIONS, not_declared, options_of
from airflow_provider_ckpt.query.declared import DECLARED

pytestmark = pytest.mark.unit


def test_each_is_a_declaration():
    assert {*_OPTIONS.values(), *(name for own in _OF_COMMANDS.values() for name in own.values())} <= {*DECLARED}


def test_an_option_means_in_a_command_what_that_command_takes():
    assert options_of("gate")["--source"] == "sources"
    assert options_of("lag")["--source"] == "asked_sources"
    assert options_of("lag")["--sink"] == "sink"


@pytest.mark.parametrize(
    ("command", "given", "left"),
    [
        ("gate", [], set()),
        ("gate", ["--source-count"], {"--source"}),
        ("export", [], {"--source"}),
        ("sources", [], {*_OPTIONS} - {"--undo-to"}),
        ("sources", ["--as"], set()),
    ],
)
def test_the_file_stands_for_none_that_means_something_else(command, given, left):
    assert not_declared(command, given) == left
