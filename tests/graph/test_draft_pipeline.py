"""The entry of a pipeline: its flows, where its tables are proven to be, and what no file says."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_ckpt.fleet.read_pipeline import see
from airflow_provider_ckpt.graph.draft import draft, names_in
from airflow_provider_ckpt.graph.draft_pipeline import beside, drafted, is_spec, with_tables
from airflow_provider_ckpt.graph.graph import Graph
from airflow_provider_ckpt.graph.read_graph import read_graph
from airflow_provider_ckpt.query.query_parser import parse_query_file
from airflow_provider_ckpt.storage.store import Store
from tests.fleet.pipelines import seen, there
from tests.pipelines.lab import Pipeline


def test_a_pipeline_that_ran_is_drafted_with_what_its_files_prove(shop):
    made = Pipeline(shop("refreshed"))
    made.write()
    pipeline = see("spark-pipeline", f"{made.root}/spark-pipeline.yml")
    (one,) = drafted([pipeline], ["Shop"])
    assert one.name == "shop_2", "a query is called so"
    graph = with_tables(read_graph([Store.open(str(made.storage))]), [one])
    text = draft(graph, [one])
    entry = parse_query_file(text).pipelines["shop_2"]
    assert sorted(names_in(graph, [one]).values()) == ["shop_2.bronze", "shop_2.silver", "shop_2.to_out"]
    assert {name: flow.deploy.sink and flow.deploy.sink.text for name, flow in entry.flows.items()} == {
        "bronze": "file:/srv/shop/spark-warehouse/bronze",
        "silver": "file:/srv/shop/spark-warehouse/silver",
        "to_out": None,
    }
    assert all(flow.deploy.by_id["0"].type == "file" for flow in entry.flows.values())
    assert "# proven: def/flows.py line 20 has to_out read this table alone" in text
    assert "# say: the sink, such as" not in text, "its definition says it, and is read each time"
    assert "# say: remote" in text and "# say: what views do" in text and f"{pipeline.storage}/_check" not in text


def test_what_never_ran_what_no_file_defines_and_what_cannot_be_read_are_said():
    ran = there("spark_catalog", "default", "old", "old")
    (one,) = drafted([seen(ran, python="@dp.table\ndef new(): ...")], ())
    text = draft(Graph(), [one])
    assert parse_query_file(text).pipelines["shop"].flows == {}
    assert "# never ran: flow new of spark_catalog.default.new, which flows.py defines in line 3" in text
    assert "# no file defines: flow old of spark_catalog.default.old (CKPT208)" in text
    (one,) = drafted([seen(ran, python="def (")], ())
    assert "# not read whole: flows.py is no Python" in (text := draft(Graph(), [one])) and "CKPT208" not in text


def test_a_flow_that_reads_two_tables_proves_no_place():
    python = "@dp.table\ndef a():\n    return spark.readStream.table('b').union(spark.readStream.table('c'))"
    (one,) = drafted([seen(there("spark_catalog", "default", "a", "a"), python=python)], ())
    assert with_tables(Graph(), [one]) == Graph()


def test_a_specification_and_where_its_tables_may_be():
    assert is_spec("s3://lake/spark-pipeline.yml") and not is_spec("s3://lake/checkpoints")
    assert beside(replace(seen(), storage="/srv/s/storage", place="/srv/p/spark-pipeline.yml")) == [
        "/srv/p/spark-warehouse",
        "/srv/s/spark-warehouse",
    ]
