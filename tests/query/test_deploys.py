"""Deploys by the locations of checkpoints."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.query.deploys import parse_deploys

FILE = """
spark_version: "4.3"
sources: ["kafka:broker:9092"]
checkpoints:
  s3://lake/checkpoints/orders:
    sources: {"0": "kafka:broker:9092/orders", "1": "rate"}
    source_options: {0.maxOffsetsPerTrigger: 1000}
    trigger: availableNow
  clicks: {sources: ["delta:s3://lake/clicks"]}
  "s3://lake/old/*": {spark_version: "3.5"}
  "file:///data/c/": {sources: ["rate"]}
"""


@pytest.mark.parametrize(
    ("location", "sources", "version"),
    [
        ("s3://lake/checkpoints/orders", ("broker:9092/orders", ""), (4, 3)),
        ("s3://lake/checkpoints/orders/", ("broker:9092/orders", ""), (4, 3)),
        ("s3://lake/checkpoints/orders-2", ("broker:9092",), (4, 3)),
        ("/anywhere/clicks", ("s3://lake/clicks",), (4, 3)),
        ("s3://lake/old/a/b", ("broker:9092",), (3, 5)),
        ("/data/c", ("",), (4, 3)),
        ("gs://other", ("broker:9092",), (4, 3)),
    ],
)
def test_the_first_entry_that_fits_counts_over_what_is_said_for_all(location, sources, version):
    deploy = parse_deploys("fleet.yaml", FILE).of(location)
    assert tuple(source.place for source in deploy.sources) == sources
    assert deploy.declared_version[:2] == version


def test_options_and_trigger_are_of_the_entry():
    deploys = parse_deploys("fleet.yml", FILE)
    orders, other = deploys.of("s3://lake/checkpoints/orders"), deploys.of("s3://lake/x")
    assert (orders.source_options, orders.trigger) == ({"0.maxOffsetsPerTrigger": "1000"}, "availableNow")
    assert (other.source_options, other.trigger) == ({}, None)


def test_a_deploy_file_is_of_every_checkpoint():
    assert (
        parse_deploys("deploy.yaml", "sources: 2").of("/a").sources
        == parse_deploys("d.yml", "sources: 2").of("/b").sources
    )
    assert parse_deploys("spark-defaults.conf", "spark.a b").of("/a").confs == {"spark.a": "b"}
    assert parse_deploys("deploy.yaml", "").of("/a").sources is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- 1", "is not a mapping with keys such as sources"),
        ("checkpoints: [a]", "checkpoints is not a mapping from at most 100,000 locations"),
        ("checkpoints: {a: [kafka]}", "checkpoints has 'a', which is not a mapping"),
        ("checkpoints: {a: {sources: [kakfa]}}", "checkpoints has 'a': unknown source type 'kakfa'"),
        ("source: 1", "unknown key 'source'"),
        ("checkpoints: {a: {sources: 1}, a: {sources: 2}}", "gives 'a' again"),
    ],
)
def test_what_is_no_such_file_says_why(text, says):
    with pytest.raises(ValueError, match=says):
        parse_deploys("fleet.yaml", text)
