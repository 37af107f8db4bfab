"""How a source is declared, in every command, file and form."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.query.source import (
    MOST_SOURCES,
    Source,
    parse_asked,
    parse_item,
    parse_source,
    parse_sources,
)

#: What each declaration means: its type, its location, its topics.
DECLARATIONS = {
    "kafka:h:9092": ("kafka", "h:9092", ()),
    "kafka:h:9092,i:9093/orders,refunds": ("kafka", "h:9092,i:9093", ("orders", "refunds")),
    "kafka://h:9092/orders": ("kafka", "h:9092", ("orders",)),
    "kafka:/orders": ("kafka", "", ("orders",)),
    "KAFKA": ("kafka", "", ()),
    "delta:s3://lake/orders": ("delta", "s3://lake/orders", ()),
    "Iceberg:/lake/db/orders": ("iceberg", "/lake/db/orders", ()),
    "file:/data/in": ("file", "/data/in", ()),
    "file:///data/in": ("file", "file:///data/in", ()),
    "rate": ("rate", "", ()),
    "Rate-Micro-Batch": ("rate-micro-batch", "", ()),
    "": (None, "", ()),
}
OPENED = {
    "file:/data/in": ("/data/in", "", ""),
    "file:/data/in/*.json": ("/data/in", "*.json", ""),
    "file:/data/*/in/{a,b}": ("/data", "*/in/{a,b}", ""),
    "file:s3://lake/in/**": ("s3://lake/in", "**", ""),
    "file:/*": ("/", "*", ""),
    "delta:/lake/[1]": ("/lake/[1]", "", ""),
    "iceberg:s3://lake/t/metadata/v7.metadata.json": ("s3://lake/t/metadata", "", "v7.metadata.json"),
}


@pytest.mark.parametrize(("text", "parts"), DECLARATIONS.items())
def test_a_declaration_is_a_type_in_any_case_and_a_place(text, parts):
    source = parse_source(text)
    assert (source.type, source.location, source.topics) == parts
    assert parse_source(source.text) == source


@pytest.mark.parametrize(("text", "parts"), OPENED.items())
def test_what_is_opened_is_a_directory(text, parts):
    source = parse_asked(text)
    assert (source.directory, source.pattern, source.metadata_file) == parts


def test_a_type_that_is_not_known_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match="unknown source type 'kafak'; the known types are .*kafka"):
        parse_source("kafak:h:9092")


def test_an_item_is_an_id_and_a_declaration():
    assert parse_item("0=Kafka:h:9092/orders") == Source("0", "kafka", "h:9092/orders")
    assert parse_item(" orders = delta:s3://lake/a=b ") == Source("orders", "delta", "s3://lake/a=b")
    assert parse_item("0=") == Source("0")


@pytest.mark.parametrize("text", ["", "0", "=kafka", "kafka:h:9092"])
def test_what_has_no_id_is_no_item(text):
    with pytest.raises(ValueError, match=r"is not ID=TYPE\[:PLACE\], such as 0=kafka"):
        parse_item(text)


def test_a_type_of_an_item_that_is_not_known_is_said_of_its_source():
    with pytest.raises(ValueError, match="source 1: unknown source type 'fiel'"):
        parse_item("1=fiel")


@pytest.mark.parametrize(
    ("declared", "sources"),
    [
        (2, (Source(None), Source(None))),
        (["kafka", ""], (Source("0", "kafka"), Source("1"))),
        ({"orders": "Kafka:h:9092", "more": None}, (Source("orders", "kafka", "h:9092"), Source("more"))),
    ],
)
def test_the_sources_of_a_query_are_a_number_a_list_or_a_mapping(declared, sources):
    assert parse_sources(declared) == sources


@pytest.mark.parametrize("declared", [0, True, [], {}, "kafka", MOST_SOURCES + 1])
def test_anything_else_is_refused(declared):
    with pytest.raises(ValueError, match="sources must be a number, a list of types, or a mapping"):
        parse_sources(declared)


@pytest.mark.parametrize("text", ["", "delta", "delta:", "file", "rate:5", "/data/in", "s3://lake/in"])
def test_what_cannot_be_asked_is_refused_with_the_types_that_can(text):
    with pytest.raises(StoreError, match="one of kafka, delta, iceberg, file;"):
        parse_asked(text)


def test_a_refusal_shows_no_password():
    with pytest.raises(StoreError) as refused:
        parse_asked("https://me:hunter22@host/in")
    assert "hunter22" not in str(refused.value)
