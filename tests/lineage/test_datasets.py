"""Names of datasets: as OpenLineage wants them, the same for every way to write a location, and with nothing secret."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.lineage.datasets import Named, backup, checkpoint, declared_sinks, declared_sources, place

PLACES = [
    ("/data/orders/", "file", "/data/orders"),
    ("file:///data/orders", "file", "/data/orders"),
    ("/", "file", "/"),
    ("s3://lake/checkpoints/orders/", "s3://lake", "checkpoints/orders"),
    ("s3a://lake/orders", "s3://lake", "orders"),
    ("s3://lake", "s3://lake", "/"),
    ("gcs://lake/orders", "gs://lake", "orders"),
    (
        "abfs://container@account.dfs.core.windows.net/orders",
        "abfss://container@account.dfs.core.windows.net",
        "orders",
    ),
    ("hdfs://namenode:8020/user/orders", "hdfs://namenode:8020", "/user/orders"),
    ("simplecache::s3://lake/orders", "s3://lake", "orders"),
    ("s3://AKIA:topsecret@lake/orders", "s3://lake", "orders"),
    ("https://host/orders?sig=topsecret", "https://host", "/orders"),
]


@pytest.mark.parametrize(("url", "namespace", "name"), PLACES)
def test_the_name_of_a_location(url, namespace, name):
    assert place(url) == (namespace, name)
    assert "topsecret" not in repr(checkpoint(url))


def test_a_checkpoint_has_its_batch_as_version_and_a_backup_its_id():
    assert checkpoint("s3://lake/orders", batch_id=0).version == "0"
    assert checkpoint("s3://lake/orders").version == ""
    assert backup("s3://lake/backups", backup_id="x", change="ALTER").version == "x"


def where(location: str) -> str | None:
    """Relative locations are below ``s3://lake``; one is not known."""
    if location == "unknown":
        return None
    return location if "://" in location or location.startswith("/") else f"s3://lake/{location}"


SOURCES = [
    ({"0": "kafka:host:9092,other:9092/orders,parcels"}, ["kafka://host:9092 orders", "kafka://host:9092 parcels"]),
    ({"0": "kafka:host:9092"}, []),  # which topics, nobody has said
    ({"0": "kafka"}, []),
    ({"0": "rate"}, []),
    ({"0": "kafka:user:topsecret@host:9092/orders"}, []),
    ({"0": "delta:s3a://lake/orders"}, ["s3://lake orders"]),
    ({"0": "iceberg:s3://lake/db/orders/metadata/v3.json"}, ["s3://lake db/orders/metadata"]),
    ({"0": "file:landing/day=*"}, ["s3://lake landing"]),
    ({"0": "file:unknown"}, []),
    (["file:/in"], ["file /in"]),
    ({"s3://lake/q": {"0": "file:/in"}}, ["file /in"]),
    (3, []),
    (None, []),
    ({"0": None, "1": 7}, []),
]


@pytest.mark.parametrize(("declared", "expected"), SOURCES)
def test_only_sources_that_are_known_for_certain_are_named(declared, expected):
    assert [f"{item.namespace} {item.name}" for item in declared_sources(declared, where)] == expected


SINKS = [
    ("delta:s3://lake/orders#txnAppId=me", [Named("s3://lake", "orders", "TABLE", "delta")]),
    ("parquet:/out", [Named("file", "/out", "FILE")]),
    (["iceberg:db/orders", "kafka"], [Named("s3://lake", "db/orders", "TABLE", "iceberg")]),
    ("foreachBatch", []),
    ("nonsense", []),
    ("file:unknown", []),
    ("", []),
    (None, []),
]


@pytest.mark.parametrize(("declared", "expected"), SINKS)
def test_only_sinks_with_a_location_are_named(declared, expected):
    assert list(declared_sinks(declared, where)) == expected
