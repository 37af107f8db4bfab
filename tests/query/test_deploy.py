"""Deploys: what is declared of one and of several, and a message for each key or line that declares nothing."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.query.deploy import Deploys, DeploySpec, declare, parse_conf_file
from airflow_provider_ckpt.query.sink import Sink, parse_sink
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.query.spark_version import SPARK_MAX
from airflow_provider_ckpt.query.yaml_text import parse_yaml

SHUFFLE = "spark.sql.shuffle.partitions"

#: What each text in YAML declares.
DECLARED: dict[str, DeploySpec] = {
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
def test_a_mapping_declares(text, declared):
    assert declare(DeploySpec(), parse_yaml(text)) == declared


#: What is said of each text that declares nothing.
REFUSED = {
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
def test_what_declares_nothing_is_refused_by_its_key(text, problem):
    with pytest.raises(ValueError, match=problem):
        declare(DeploySpec(), parse_yaml(text))


@pytest.mark.parametrize("name", ["deploy.yaml", "s3://lake/deploy.yml"])
def test_yaml_is_no_file_of_confs_and_it_is_said_where_it_belongs(name):
    says = "it is YAML, and a spark-defaults.conf is wanted; write its keys under queries, NAME of a ckpt.yaml, with"
    with pytest.raises(ValueError, match=says):
        parse_conf_file("sink: memory", name)
    assert parse_conf_file("a 1", "spark-defaults.conf") == {"a": "1"}


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
    deploy = declare(DeploySpec(), {"sources": {"0": "kafka:b:9092/t", "3": ""}})
    assert deploy.by_id == {"0": Source("0", "kafka", "b:9092/t"), "3": Source("3")}
    assert declare(DeploySpec(), {"sources": 2}).by_id == {}


def test_the_confs_that_come_later_win():
    later = DeploySpec(confs={"a": "true", "b": "1"}).with_confs({"a": "false", "c": "2"})
    assert later.confs == {"a": "false", "b": "1", "c": "2"}
    assert not later.switches_on("a") and DeploySpec(confs={"a": "true"}).switches_on("a")


DEPLOYS = Deploys({"s3://lake/c/orders": DeploySpec(trigger="once"), "/data/c": DeploySpec(classes=("a.B",))})


@pytest.mark.parametrize(
    ("location", "trigger", "classes"),
    [
        ("s3://lake/c/orders", "once", ()),
        ("s3a://lake/c/orders/", "once", ()),
        ("s3://lake/c/orders-2", None, ()),
        ("file:///data/c/", None, ("a.B",)),
        ("gs://other", None, ()),
    ],
)
def test_the_deploy_of_a_query_is_found_by_the_place_of_its_checkpoint(location, trigger, classes):
    deploy = DEPLOYS.of(location)
    assert (deploy.trigger, deploy.classes) == (trigger, classes)


def test_what_is_said_of_all_wins():
    said = DEPLOYS.with_said({"trigger": "availableNow", "sink": None})
    assert [said.of(at).trigger for at in ("s3://lake/c/orders", "/x")] == ["availableNow", "availableNow"]
    assert said.of("/data/c").classes == ("a.B",)
    with pytest.raises(ValueError, match="unknown key 'source'"):
        DEPLOYS.with_said({"source": 1})
