"""What is asked about the sources of a deploy."""

from __future__ import annotations

from airflow_provider_ckpt.positions.source_options import parse_options
from airflow_provider_ckpt.restart.ask_lag import question_of, source_texts
from airflow_provider_ckpt.restart.deploy import DeploySpec, declare, parse_deploy_file

DEPLOY = parse_deploy_file(
    "sources: {'0': 'kafka:b:9092/t', '1': rate, '2': 'delta:/lake/t', '3': ''}\n"
    "source_options: {0.maxOffsetsPerTrigger: 5}\ntrigger: once"
)


def test_the_question_has_every_source_whose_type_is_declared():
    question = question_of(DEPLOY, ages=True)
    assert question.sources == {"0": "kafka:b:9092/t", "1": "rate", "2": "delta:/lake/t"}
    assert question.options == parse_options([("0.maxOffsetsPerTrigger", "5")], "once")
    assert question.ages


def test_a_number_of_sources_asks_nobody():
    assert question_of(declare(DeploySpec(), {"sources": 2})).sources == {}
    assert question_of(DeploySpec()).sources == {}


def test_each_source_has_a_text_or_none():
    assert source_texts(DEPLOY) == {"0": "kafka:b:9092/t", "1": "rate", "2": "delta:/lake/t", "3": None}
    assert source_texts(declare(DeploySpec(), {"sources": 2})) == {}
