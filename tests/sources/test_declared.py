"""How sources are declared, and the ends of several at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointError, StoreError
from airflow_provider_ckpt.sources.declared import DeclaredEnd, parse_end

DELTA = Path(__file__).parents[1] / "data" / "sources" / "delta.tar.gz"
DECLARATIONS = {
    "kafka:h:9092": DeclaredEnd("kafka", "h:9092"),
    "kafka:h:9092,i:9093/orders,refunds": DeclaredEnd("kafka", "h:9092,i:9093", ("orders", "refunds")),
    "kafka://h:9092/orders": DeclaredEnd("kafka", "h:9092", ("orders",)),
    "kafka:/orders": DeclaredEnd("kafka", "", ("orders",)),
    "kafka": DeclaredEnd("kafka"),
    "delta:s3://lake/orders": DeclaredEnd("delta", "s3://lake/orders"),
    "Iceberg:/lake/db/orders": DeclaredEnd("iceberg", "/lake/db/orders"),
    "file:/data/in": DeclaredEnd("file", "/data/in"),
    "file:///data/in": DeclaredEnd("file", "file:///data/in"),
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


@pytest.mark.parametrize(("text", "declared"), DECLARATIONS.items())
def test_a_declaration_is_kind_place_and_topics(text, declared):
    assert parse_end(text) == declared


@pytest.mark.parametrize(("text", "parts"), OPENED.items())
def test_what_is_opened_is_a_directory(text, parts):
    declared = parse_end(text)
    assert (declared.directory, declared.pattern, declared.metadata_file) == parts


@pytest.mark.parametrize("text", ["", "delta", "delta:", "file", "rate:5", "/data/in", "s3://lake/in"])
def test_anything_else_is_refused_with_the_kinds_there_are(text):
    with pytest.raises(StoreError, match="one of kafka, delta, iceberg, file"):
        parse_end(text)


def test_a_refusal_shows_no_password():
    with pytest.raises(StoreError) as refused:
        parse_end("https://me:hunter22@host/in")
    assert "hunter22" not in str(refused.value)


def test_an_error_names_the_checkpoint(ends, tmp_path):
    (tmp_path / "in").mkdir()
    progress = Progress(0, OffsetSeq(1, None, (("0", SourceOffset('"x"')),)))
    asked = ends(tmp_path / "checkpoint", s0=f"file:{tmp_path}/in")
    with pytest.raises(StoreError, match=f"{tmp_path}/checkpoint: source 0 is not a file source"):
        asked.end_at(None, progress).at_poll(asked, progress)


def test_without_a_declaration_there_is_nothing_to_ask(ends, tmp_path):
    with pytest.raises(CheckpointError, match="no source was declared"):
        ends(tmp_path)
