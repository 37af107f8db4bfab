"""How a sink is declared."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.sinks.declared import DeclaredSink, parse_sink, read_marker
from tests.sinks.conftest import marker

DECLARATIONS = {
    "file:/data/out": DeclaredSink("file", "/data/out"),
    "file:///data/out": DeclaredSink("file", "file:///data/out"),
    "file:s3://lake/out": DeclaredSink("file", "s3://lake/out"),
    "file:/data/a#txnAppId=x": DeclaredSink("file", "/data/a#txnAppId=x"),
    "delta:s3://lake/t": DeclaredSink("delta", "s3://lake/t"),
    "delta:/t#txnAppId=orders": DeclaredSink("delta", "/t", "orders"),
    "delta:/data/a#b": DeclaredSink("delta", "/data/a#b"),
    "hudi:/t#identifier=a": DeclaredSink("hudi", "/t", "a"),
    "history:s3://lake/audit/history": DeclaredSink("history", "s3://lake/audit/history"),
    "iceberg:/t": DeclaredSink("iceberg", "/t"),
    "parquet:/data/out": DeclaredSink("file", "/data/out"),
    "JSON:s3://lake/out": DeclaredSink("file", "s3://lake/out"),
    "csv:///data/out": DeclaredSink("file", "file:///data/out"),
    "orc:/t": DeclaredSink("file", "/t"),
    "text:/t": DeclaredSink("file", "/t"),
    "kafka": DeclaredSink("kafka"),
    "kafka:orders": DeclaredSink("kafka", "orders"),
    "foreachbatch": DeclaredSink("foreachBatch"),
    "unknown": DeclaredSink("unknown"),
}


@pytest.mark.parametrize(("text", "sink"), DECLARATIONS.items())
def test_a_declaration_is_kind_place_and_writer(text, sink):
    assert parse_sink(text) == sink


@pytest.mark.parametrize("text", ["", "file", "file:", "delta", "deltalake:/t", "/data/out", "s3://lake/out"])
def test_anything_else_is_refused_with_the_kinds_there_are(text):
    with pytest.raises(StoreError, match="file:URI, delta:URI"):
        parse_sink(text)


def test_an_iceberg_metadata_file_is_opened_by_its_directory():
    sink = parse_sink("iceberg:s3://lake/t/metadata/v7.metadata.json")
    assert (sink.directory, sink.metadata_file) == ("s3://lake/t/metadata", "v7.metadata.json")


def test_a_sink_that_remembers_nothing_needs_no_storage():
    assert marker("kafka:orders", "q", 1).commits == ()


def test_a_sink_that_remembers_has_to_be_opened():
    with pytest.raises(StoreError, match="not given to open"):
        read_marker(DeclaredSink("delta", "/t"), None, "q", 1)


SECRET = "kafka:https://u:hunter22@h/x"


def test_what_is_told_of_a_sink_has_no_password():
    sink = parse_sink(SECRET)
    assert sink.at(None).name == read_marker(sink, None, None, 0).name == "kafka:https://u@h/x"
    with pytest.raises(StoreError, match="is not a sink") as refused:
        parse_sink(SECRET.removeprefix("kafka:"))
    assert "hunter22" not in refused.value.message
