"""Flows of a pipeline by name: the storage and the definitions together, each at the version that runs."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet.pipeline import SeenPipeline, pipeline_of, with_flows
from airflow_provider_ckpt.query.query_file import QueryFile
from airflow_provider_ckpt.query.query_parser import parse_query_file
from tests.fleet.pipelines import seen, there

BELOW = "/s/_checkpoints"
FILE = parse_query_file("""format_version: 1
defaults: {backups: "/b/{query}", spark_version: "4.3"}
pipelines:
  shop:
    spec: spark-pipeline.yml
    flows: {bronze: {sink: "file:/w/bronze", confs: {spark.a: "2"}}}
""")


def file_with(pipeline: SeenPipeline) -> QueryFile:
    return with_flows(FILE, pipeline)


def test_a_flow_is_named_by_itself_and_with_catalog_and_database_where_two_have_its_name():
    one = seen(there("c", "d", "t", "f"), there("c", "e", "t", "f"), there("c", "d", "t", "g"), there("out", "h"))
    assert sorted(one.names) == ["shop.d.f", "shop.e.f", "shop.g", "shop.h"]
    moved = seen(there("c", "d", "t", "f"), there("c", "d", "u", "f"))
    assert sorted(moved.names) == ["shop.c.d.t.f", "shop.c.d.u.f"]


@pytest.mark.parametrize(
    "word",
    ["shop.my.flow", "shop.`my.flow`", "shop.d.my.flow", "shop.c.d.`my.flow`", f"{BELOW}/c/d/t/my.flow",
     f"{BELOW}/c/d/t/my.flow/2", f"file://{BELOW}/c/d/t/my.flow/"],
)  # fmt: skip
def test_every_name_and_location_of_a_flow_is_its_version_that_runs(word):
    query = file_with(seen(there("c", "d", "t", "my.flow", version=2))).find(word)
    assert (query.name, query.checkpoint) == ("shop.my.flow", f"{BELOW}/c/d/t/my.flow/2")


@pytest.mark.parametrize("version", [0, 2])
def test_a_query_that_is_a_flow_is_refused_because_one_place_has_one_name(version):
    checkpoint = f"file://{BELOW}/c/d/t/f/{version}/"
    file = parse_query_file(
        f"format_version: 1\nqueries:\n  old: {{checkpoint: '{checkpoint}'}}\npipelines: {{shop: {{spec: p.yml}}}}\n"
    )
    with pytest.raises(
        ValueError, match=r"^ckpt\.yaml line 3: the checkpoint of old is that of the flow shop\.f, and "
    ):
        with_flows(file, seen(there("c", "d", "t", "f", version=2)))
    once = with_flows(file, seen(there("c", "d", "t", "g")))
    assert with_flows(once, seen(there("c", "d", "t", "g"))) == once


def test_what_is_declared_of_a_flow_comes_from_the_file_and_from_its_definition():
    python = """
dp.create_sink("out", "parquet", {"path": "/out"})
@dp.append_flow(target="out", name="to_out", spark_conf={"spark.b": "3"})
def f(): ...
"""
    file = file_with(seen(there("c", "d", "bronze", "bronze"), there("out", "to_out"), python=python))
    bronze, out = file.queries["shop.bronze"], file.queries["shop.to_out"]
    assert (bronze.deploy.sink.text, out.deploy.sink.text) == ("file:/w/bronze", "file:/out")
    assert (bronze.deploy.confs, out.deploy.confs) == ({"spark.a": "2"}, {"spark.a": "1", "spark.b": "3"})
    assert (bronze.backups, out.backups) == ("/b/shop.bronze", "/b/shop.to_out")
    assert (bronze.deploy.spark_version, bronze.deploy.trigger) == ((4, 3), "availableNow")
    assert file.origin(bronze, "sink") == "ckpt.yaml line 6"
    assert (file.origin(out, "sink"), file.origin(out, "confs")) == ("flows.py", "spark-pipeline.yml")


@pytest.mark.parametrize("key", ["backups", "undo"])
@pytest.mark.parametrize("inside", ["/0/kept", "/kept"])
def test_what_is_kept_of_a_flow_is_outside_of_its_checkpoint(key, inside):
    root = f"{BELOW}/c/d/t/f{inside}"
    file = parse_query_file(f"""format_version: 1
pipelines: {{shop: {{spec: s.yml, flows: {{f: {{{key}: "{root}"}}}}}}}}
""")
    with pytest.raises(CheckpointError, match=f"ckpt.yaml line 2, {key} of the flow shop.f: it is in the checkpoint"):
        with_flows(file, seen(there("c", "d", "t", "f")))
    assert getattr(with_flows(file, seen(there("c", "d", "u", "f"))).queries["shop.f"], key) == root


def test_a_name_that_a_uri_cannot_have_is_escaped_in_its_directory():
    python = """
dp.create_sink("my.out", "json", {"path": "/out"})
@dp.append_flow(target="my.out", name="`to out%`")
def f(): ...
@dp.append_flow(target="my.out", name="`other flow`")
def g(): ...
"""
    ran = there("my", "out", "to%20out%25", version=2)
    new, old = seen(ran, python=python).flows
    assert (new.checkpoint, new.is_there) == (f"{BELOW}/my/out/other%20flow/0", False)
    assert (old.checkpoint, old.defined.name, old.names[0]) == (f"{BELOW}/my/out/to%20out%25/2", "to out%", "to out%")
    assert file_with(seen(ran, python=python)).find("shop.`to out%`").deploy.sink.text == "file:/out"


def test_a_flow_into_what_nothing_defines_has_no_place_until_it_has_run():
    python = "@dp.append_flow(target='maker', name='to_it')\ndef f(): ...\n"
    never = seen(python=python)
    assert (never.flows, len(never.definitions.not_read)) == ((), 1)
    assert never.definitions.not_read[0].startswith("flows.py line 3: to_it writes to maker, which no file that was")
    for ran in (there("maker", "to_it"), there("c", "d", "maker", "to_it")):
        once = seen(ran, python=python)
        assert ([flow.defined.name for flow in once.flows], once.definitions.not_read) == (["to_it"], [])
    twice = seen(there("maker", "to_it"), there("c", "d", "maker", "to_it"), python=python)
    assert [flow.defined for flow in twice.flows] == [None, None] and twice.definitions.not_read


@pytest.mark.parametrize(
    ("spec", "flows", "parts"),
    [
        ({}, (), ("spark_catalog", "default", "t")),
        ({"catalog": "lake", "database": "sales"}, (), ("lake", "sales", "t")),
        ({}, (there("lake", "sales", "old", "old"),), ("lake", "sales", "t")),
        ({"database": "x"}, (there("lake", "sales", "old", "old"),), ("lake", "x", "t")),
        ({}, (there("a", "b", "old", "old"), there("a", "c", "old", "old")), ("spark_catalog", "default", "t")),
    ],
)
def test_a_flow_that_has_not_run_is_where_spark_will_put_it(spec, flows, parts):
    (new,) = [flow for flow in seen(*flows, python="@dp.table\ndef t(): ...", **spec).flows if not flow.is_there]
    assert (new.flow.parts, new.flow.name, new.defined.line) == (parts, "t", 3)


@pytest.mark.parametrize(
    ("word", "name"), [("shop", "shop"), ("shop.bronze", "shop"), ("shopping", None), ("/shop.x", None)]
)
def test_a_word_that_names_a_pipeline(word, name):
    assert pipeline_of(FILE, word) == name
