"""What a query file declares, as arguments of every face."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.query.declared import DECLARED, cluster_of, texts_declared
from airflow_provider_ckpt.query.query_parser import parse_query_file

FILE = """\
format_version: 1
kafka:
  main: {bootstrap.servers: "b1:9092", conn_id: kafka_main, security.protocol: SSL}
  other: {bootstrap.servers: "b2:9092"}
queries:
  orders:
    checkpoint: s3://lake/checkpoints/orders
    sources: [{from: "kafka:main/orders", options: {maxOffsetsPerTrigger: 10}}]
    sink: file:s3://lake/orders
    trigger: availableNow
    spark_version: "4.3"
    confs: {spark.sql.shuffle.partitions: 8}
    operators: [stateStoreSave]
    classes: [com.acme.Provider]
    backups: s3://lake/backups/{query}
    undo: s3://lake/undo/{query}
    keep: {last: 7, hourly: 24, daily: 14, weekly: 4, monthly: 12, tag: [before-4.3]}
  both: {checkpoint: /both, sources: ["kafka:main/a", "kafka:other/b"]}
  bare: {checkpoint: /bare}
"""
QUERIES = parse_query_file(FILE).queries
ORDERS = {
    "sources": {"0": "kafka:b1:9092/orders"},
    "stored_sources": {},
    "typed_sources": {"0": "kafka:b1:9092/orders"},
    "asked_sources": {"0": "kafka:b1:9092/orders"},
    "source": "0=kafka:b1:9092/orders",
    "sinks": ("file:s3://lake/orders",),
    "source_options": {"0.maxOffsetsPerTrigger": "10"},
    "kafka_config": {"security.protocol": "SSL"},
    "kafka_conn_id": "kafka_main",
    "sink": "file:s3://lake/orders",
    "trigger": "availableNow",
    "spark_version": "4.3",
    "confs": {"spark.sql.shuffle.partitions": "8"},
    "operators": ("stateStoreSave",),
    "classes": ("com.acme.Provider",),
    "backup_root": "s3://lake/backups/orders",
    "undo_root": "s3://lake/undo/orders",
    "keep_last": 7,
    "keep_hourly": 24,
    "keep_daily": 14,
    "keep_weekly": 4,
    "keep_monthly": 12,
    "keep_tags": ("before-4.3",),
}


@pytest.mark.parametrize("name", DECLARED)
def test_each_declaration_is_an_argument(name):
    assert DECLARED[name].of(QUERIES["orders"]) == ORDERS[name]
    assert not DECLARED[name].of(QUERIES["bare"])


@pytest.mark.parametrize("name", DECLARED)
def test_each_declaration_is_said_in_the_file(name):
    assert DECLARED[name].key in QUERIES["orders"].lines


def test_words_of_a_command_line():
    words = {name: texts_declared(name, QUERIES["orders"]) for name in ("sources", "sink", "operators")}
    expected = {
        "sources": ["0=kafka:b1:9092/orders"],
        "sink": ["file:s3://lake/orders"],
        "operators": ["stateStoreSave"],
    }
    assert words == expected
    assert texts_declared("sink", QUERIES["bare"]) == texts_declared("sources", QUERIES["bare"]) == []


def test_a_client_has_one_configuration_so_of_two_clusters_there_is_none():
    assert cluster_of(QUERIES["both"]) is cluster_of(QUERIES["bare"]) is None


def test_sources_are_left_out_where_nobody_can_ask_them():
    """Of a file as a scan writes it: a source of no known type, and types without a place."""
    text = 'format_version: 1\nqueries: {q: {checkpoint: /q, sources: [null, file, rate, "delta:/t"]}}'
    query = parse_query_file(text).queries["q"]
    assert DECLARED["asked_sources"].of(query) == {"2": "rate", "3": "delta:/t"}
    assert DECLARED["typed_sources"].of(query) == {"1": "file", "2": "rate", "3": "delta:/t"}
