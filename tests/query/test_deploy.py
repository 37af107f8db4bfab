"""Deploy files: what they declare, and a message for each line that declares nothing."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.query.deploy import (
    DeploySpec,
    parse_conf_file,
    parse_deploy,
    parse_deploy_file,
    parse_deploys,
)
from airflow_provider_ckpt.query.sink import Sink, parse_sink
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.query.spark_version import SPARK_MAX

SHUFFLE = "spark.sql.shuffle.partitions"

#: What each deploy file declares.
DECLARED: dict[str, DeploySpec] = {
    "": DeploySpec(),
    "confs:": DeploySpec(),
    "confs: {}": DeploySpec(sets_no_conf=True),
    f"confs: {{{SHUFFLE}: 8, a: true, b: ''}}": DeploySpec(
        confs={SHUFFLE: "8", "a": "true", "b": ""}, sets_no_conf=True
    ),
    "spark_version: '4.1'": DeploySpec(declared_version=(4, 1)),
    "spark_version: 4.1.2": DeploySpec(declared_version=(4, 1)),
    "sources: 2": DeploySpec(sources=(Source(None), Source(None))),
    "sources: [kafka, '']": DeploySpec(sources=(Source("0", "kafka"), Source("1", None))),
    "sources: {orders: kafka, more: }": DeploySpec(sources=(Source("orders", "kafka"), Source("more", None))),
    "operators: []": DeploySpec(operators=()),
    "operators: [stateStoreSave]": DeploySpec(operators=("stateStoreSave",)),
    "sink: file:/lake\nasync_progress: true\nsink_name: lake\ntrigger: once": DeploySpec(
        sink=Sink("file", "/lake"), async_progress=True, sink_name="lake", trigger="once"
    ),
}


@pytest.mark.parametrize(("text", "declared"), DECLARED.items())
def test_a_deploy_file_declares(text, declared):
    assert parse_deploy_file(text) == declared


#: What is said of each file that is none.
REFUSED = {
    "[a]": "not a mapping with keys such as confs",
    "a: 1": "unknown key 'a'; the keys are async_progress, classes, ",
    "confs: []": "confs is not a mapping",
    "confs: {1: a}": "confs has the key 1, which is not the name of a conf",
    "confs: {'': a}": "confs has the key '', which is not the name of a conf",
    "confs: {a: }": 'the conf a has no value; write "" for an empty one',
    "confs: {a: [1]}": "the conf a is a list, not a text, a number, true or false",
    "confs: {a: {b: 1}}": "the conf a is a dict, not a text",
    "spark_version: 4.1": "spark_version is the number 4.1, and as a number 4.10 is the same as 4.1: write it in quotes",
    "spark_version: new": "'new' is not a Spark version, such as 4.3",
    "sources: 0": "sources must be a number",
    "sources: [kafa]": "unknown source type 'kafa'; the known types are ",
    "operators: stateStoreSave": "operators must be a list of names, not 'stateStoreSave'",
    "classes: com.example.Store": "classes must be a list of names, not 'com.example.Store'",
    "classes: ['']": "classes must be a list of names",
    "sink: 1": "sink is not a str: 1",
    "sink_name: [a]": "sink_name is not a str",
    "async_progress: 1": "async_progress is not a bool: 1",
    "trigger: hourly": "trigger must be one of processingTime, .*, not 'hourly'",
}


@pytest.mark.parametrize(("text", "problem"), REFUSED.items(), ids=[text[:40] for text in REFUSED])
def test_a_file_that_declares_nothing_is_refused_by_its_line_or_key(text, problem):
    with pytest.raises(ValueError, match=problem):
        parse_deploy_file(text)


@pytest.mark.parametrize("name", ["deploy.yaml", "s3://lake/deploy.yml"])
def test_yaml_is_known_by_its_name(name):
    assert parse_deploy(name, "sink: memory") == DeploySpec(sink=Sink("memory"))


@pytest.mark.parametrize("name", ["spark-defaults.conf", "deploy.txt"])
def test_any_other_file_is_one_of_confs(name):
    assert parse_deploy(name, f"{SHUFFLE} 8") == DeploySpec(confs={SHUFFLE: "8"}, sets_no_conf=True)
    assert parse_deploy(name, "") == DeploySpec(sets_no_conf=True)


def test_a_file_of_confs():
    text = "# of the deploy\n! old\n\n  a 1\nb=2\nc = 3\nd: x=y\ne\na 1\n"
    assert parse_conf_file(text) == {"a": "1", "b": "2", "c": "3", "d": "x=y", "e": ""}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a 1\na 2", "a is given twice, as '1' and as '2'; give it once"),
        ("{a}", "'{a}' is not a line of spark-defaults.conf"),
    ],
)
def test_a_line_that_is_no_conf_is_refused(text, problem):
    with pytest.raises(ValueError, match=problem):
        parse_conf_file(text)


def test_what_is_not_said_stays_unknown():
    nothing = DeploySpec()
    assert nothing.spark_version == SPARK_MAX and not nothing.says_confs and nothing.source_kinds is None
    assert nothing.with_confs({}).says_confs and DeploySpec(confs={"a": "b"}).says_confs
    assert DeploySpec(sources=(Source(None),)).source_kinds is None
    assert DeploySpec(sources=(Source("0", "kafka"),)).source_kinds == {"0": "kafka"}


@pytest.mark.parametrize(
    ("sink", "place"),
    [
        (None, None),
        ("kafka", None),
        ("delta:/lake", None),
        ("file:/lake", "/lake"),
        ("Parquet:s3://lake", "s3://lake"),
        ("file:///lake", "file:///lake"),
    ],
)
def test_where_a_file_sink_writes(sink, place):
    assert DeploySpec(sink=parse_sink(sink) if sink else None).file_sink == place


def test_the_sources_have_their_ids_where_these_are_declared():
    deploy = parse_deploy_file("sources: {'0': 'kafka:b:9092/t', '3': ''}")
    assert deploy.by_id == {"0": Source("0", "kafka", "b:9092/t"), "3": Source("3")}
    assert parse_deploy_file("sources: 2").by_id == {}


def test_the_confs_that_come_later_win():
    later = DeploySpec(confs={"a": "true", "b": "1"}).with_confs({"a": "false", "c": "2"})
    assert later.confs == {"a": "false", "b": "1", "c": "2"}
    assert not later.switches_on("a") and DeploySpec(confs={"a": "true"}).switches_on("a")


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
