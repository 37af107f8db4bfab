"""How a sink is declared."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.query.sink import Sink, parse_sink
from airflow_provider_ckpt.sinks.read_marker import read_marker

DECLARATIONS = {
    "file:/data/out": Sink("file", "/data/out"),
    "file:///data/out": Sink("file", "file:///data/out"),
    "file:s3://lake/out": Sink("file", "s3://lake/out"),
    "file:/data/a#txnAppId=x": Sink("file", "/data/a#txnAppId=x"),
    "delta:s3://lake/t": Sink("delta", "s3://lake/t"),
    "delta:/t#txnAppId=orders": Sink("delta", "/t", "orders"),
    "delta:/data/a#b": Sink("delta", "/data/a#b"),
    "hudi:/t#identifier=a": Sink("hudi", "/t", "a"),
    "history:s3://lake/audit/history": Sink("history", "s3://lake/audit/history"),
    "iceberg:/t": Sink("iceberg", "/t"),
    "parquet:/data/out": Sink("file", "/data/out"),
    "JSON:s3://lake/out": Sink("file", "s3://lake/out"),
    "csv:///data/out": Sink("file", "file:///data/out"),
    "orc:/t": Sink("file", "/t"),
    "text:/t": Sink("file", "/t"),
    "kafka": Sink("kafka"),
    "kafka:orders": Sink("kafka", "orders"),
    "foreachbatch": Sink("foreachBatch"),
    "unknown": Sink("unknown"),
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


SECRET = "kafka:https://u:hunter22@h/x"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("kafka:u:hunter22@h:9092", "kafka:u@h:9092"),
        ("Kafka:u:hunter22@h", "kafka:u@h"),
        ("foreach:u:hunter 22'@h/x", "foreach:u@h/x"),
        ("unknown:https://u:hunter22@h/x", "unknown:https://u@h/x"),
        ("kafka:u@h:9092", "kafka:u@h:9092"),
        ("kafka:h:9092/orders", "kafka:h:9092/orders"),
    ],
)
def test_a_place_that_nobody_opens_is_kept_without_a_password(text, kept):
    assert parse_sink(text).name == parse_sink(text).text == kept


def test_what_is_told_of_a_sink_has_no_password():
    sink = parse_sink(SECRET)
    assert sink.at(None).name == read_marker(sink, None, None, 0).name == "kafka:https://u@h/x"
    with pytest.raises(StoreError, match="is not a sink") as refused:
        parse_sink(SECRET.removeprefix("kafka:"))
    assert "hunter22" not in refused.value.message
