"""Options of a command, from the fields of a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import click
import pytest
from click.testing import CliRunner

from airflow_provider_ckpt.change.option import WAIT_S, Opt, SinkOf, TriggerOf, WaitForBatch
from airflow_provider_ckpt.cli.changes.asking import asked_of, beside_plan, given, options_of, options_said
from airflow_provider_ckpt.query.sink import Sink, parse_sink


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    to_version: Annotated[int | None, Opt("--to-version VERSION", "Go there.", "whole", least=0)] = None
    earliest: Annotated[bool, Opt("--to-earliest", "Go back.")] = False
    topics: Annotated[tuple[str, ...], Opt("--topic TOPIC", "Of this.")] = ()
    conn_id: Annotated[str | None, Opt("")] = None
    sink: SinkOf = None
    trigger: TriggerOf = None
    wait_for_batch: WaitForBatch = WAIT_S


def run(*words: str) -> Any:
    """What a command has got: what was given beside a plan, and the request."""
    found: list[Any] = []

    @click.command
    @click.argument("place", required=False)
    @options_of(Asked, after={"topics": [click.option("--export", is_flag=True)]})
    def command(place: str | None, export: bool, **values: Any) -> None:
        beside = {name for name, value in given({"place": place, **values}, beside_plan(Asked)).items() if value}
        found.append((beside, asked_of(Asked, values)))

    done = CliRunner().invoke(command, words)
    return found[0] if found else done.output


def test_without_options_the_request_says_nothing():
    assert run() == (set(), Asked())


def test_each_option_is_a_field():
    beside, asked = run("p", "--to-version", "3", "--to-earliest", "--topic", "a", "--sink", "kafka", "--topic", "b")
    assert beside == {"PLACE", "--to-version", "--to-earliest", "--topic", "--sink"}
    assert asked == Asked(to_version=3, earliest=True, topics=("a", "b"), sink=parse_sink("kafka"))
    assert options_said(asked) == ["--to-version", "--to-earliest", "--topic", "--sink"]


def test_what_says_how_can_stand_beside_a_plan():
    assert run("--wait-for-batch", "2m") == (set(), Asked(wait_for_batch=120))


@pytest.mark.parametrize("words", [("--to-version", "-1"), ("--trigger", "soon"), ("--wait-for-batch", "x")])
def test_a_value_that_is_none_is_a_usage_error(words):
    assert f"Invalid value for '{words[0]}'" in run(*words)


def test_the_help_has_the_fields_in_order_with_the_options_of_the_command():
    lines = [line.split()[0] for line in run("--help").split("\n") if line.startswith("  --")]
    assert lines == [
        *("--to-version", "--to-earliest", "--topic", "--export", "--sink", "--trigger", "--wait-for-batch", "--help"),
    ]


def test_a_sink_is_parsed_once():
    assert isinstance(run("--sink", "delta:s3://lake/orders")[1].sink, Sink)
