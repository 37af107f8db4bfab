"""What is asked about the sources of a deploy."""

from __future__ import annotations

from airflow_provider_ckpt.query.deploy import DeploySpec, declare, parse_deploy_file
from airflow_provider_ckpt.query.source_options import parse_options
from airflow_provider_ckpt.restart.ask_lag import question_of

DEPLOY = parse_deploy_file(
    "sources: {'0': 'kafka:b:9092/t', '1': rate, '2': 'delta:/lake/t', '3': ''}\n"
    "source_options: {0.maxOffsetsPerTrigger: 5}\ntrigger: once"
)


def test_the_question_has_every_source_whose_type_is_declared():
    question = question_of(DEPLOY, ages=True)
    texts = {source_id: source.text for source_id, source in question.sources.items()}
    assert texts == {"0": "kafka:b:9092/t", "1": "rate", "2": "delta:/lake/t"}
    assert question.options == parse_options([("0.maxOffsetsPerTrigger", "5")], "once")
    assert question.ages


def test_a_number_of_sources_asks_nobody():
    assert question_of(declare(DeploySpec(), {"sources": 2})).sources == {}
    assert question_of(DeploySpec()).sources == {}
