"""The options that say what a query reads from: what is given wins over what is declared."""

from __future__ import annotations

import click
import pytest

from airflow_provider_ckpt.cli.positions.source_options import asked_sources, declared_options
from airflow_provider_ckpt.query.deploy import Deploys, DeploySpec
from airflow_provider_ckpt.query.source import Source

DECLARED = Deploys({"/c/a": DeploySpec(sources=(Source("0", "rate"),), trigger="once")})


def test_a_given_source_wins_and_another_checkpoint_has_it_too():
    asked = asked_sources({"0": Source("0", "file", "/in")}, (), ("a=b",), declared=DECLARED)
    assert [asked.deploys.of(at).sources[0].type for at in ("/c/a", "/c/b")] == ["file", "file"]
    assert (asked.deploys.of("/c/a").trigger, asked.kafka_config) == ("once", {"a": "b"})
    assert asked_sources({}, (), (), declared=DECLARED).deploys.of("/c/a").sources[0].type == "rate"


def test_without_a_source_nobody_is_asked():
    assert asked_sources({}, (), ()) is None
    for options in (("0.maxOffsetsPerTrigger=1",), ()):
        with pytest.raises(click.UsageError, match="need --source"):
            asked_sources({}, options, () if options else ("a=b",))


@pytest.mark.parametrize("ask", [lambda words: asked_sources({"0": Source("0")}, words, ()), declared_options])
def test_an_option_that_is_none_is_a_wrong_use(ask):
    with pytest.raises(click.BadParameter, match="is no option of a source"):
        ask(("0.limit=5",))


def test_a_trigger_alone_is_an_option_of_a_query():
    assert declared_options() is None
    assert declared_options(trigger="once").trigger == "once"
