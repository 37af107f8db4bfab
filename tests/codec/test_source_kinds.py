"""The kinds of sources: which JSON has the shape of one, where it says each partition is, and who writes it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from airflow_provider_ckpt.codec.source_kinds import KINDS, kind_of_provider
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import MalformedEntryError


@pytest.mark.parametrize("version", [0, 2, 4, "1", None])
def test_delta_refuses_what_it_does_not_write(version):
    value = {"sourceVersion": version, "reservoirId": "t", "reservoirVersion": 1, "index": 0}
    with pytest.raises(MalformedEntryError):
        SourceOffset(json.dumps(value)).view("delta")


@pytest.mark.parametrize(("kind", "text"), [
    ("sequential-union", '{"activeSourceName":"a","allSourceNames":["a","b"],"completedSourceNames":["a"]}'),
    ("sequential-union", '{"activeSourceName":"c","allSourceNames":["a","b"],"completedSourceNames":["a"]}'),
    ("hudi", '{"commitTime":20240101}'), ("paimon", '{"snapshotId":"3","index":0}'), ("pubsub", '{"fetchEpoch":1}'),
    ("file", '{"logOffset":9223372036854775808}'), ("kafka", '{"t":{"0":9223372036854775808}}'),
    ("kafka", '{"t":{"0":-9223372036854775809}}'), ("kafka", '{"t":{"0":true}}'), ("kafka", '{"t":{"0":1.0}}'),
])  # fmt: skip
def test_more_shapes_that_are_none(kind, text):
    with pytest.raises(MalformedEntryError):
        SourceOffset(text).view(kind)


def test_what_only_names_the_kind_tells_apart():
    """Kinds that are decoded, not measured: their code was read."""
    assert kind_of_provider("paimon") == "paimon"


def test_a_bare_number_is_a_file_offset_of_old():
    assert KINDS["file"].fits(3) and KINDS["file"].positions(3) == {"log": (3,)}


@pytest.mark.parametrize(("provider", "kind"), [
    ("org.apache.spark.sql.kafka010.KafkaSourceProvider", "kafka"), ("kafka", "kafka"),
    ("org.apache.spark.sql.execution.streaming.runtime.FileStreamSource", "file"), ("com.example.Other", None),
])  # fmt: skip
def test_the_provider_tells_the_kind(provider, kind):
    assert kind_of_provider(provider) == kind


DOCS = Path(__file__).parents[2] / "docs/positions.md"
ROWS = re.findall(
    r"^\| `([\w-]+)` \| `(\S+)` \| (the end|the beginning) \| ([^|]*) \| ([^|]*)\|$", DOCS.read_text(), re.MULTILINE
)


@pytest.mark.parametrize(("name", "example", "marks", "order", "unit"), ROWS, ids=[row[0] for row in ROWS])
def test_the_table_of_the_docs_says_what_each_kind_is(name, example, marks, order, unit):
    kind = SourceOffset(example).view(name).kind
    assert (kind.marks, kind.unit) == (marks.removeprefix("the ").replace("beginning", "begin"), unit.strip() or None)
    assert kind.ordered == (order != "only the table knows")
    assert ("within" in order) == bool(kind.identity(json.loads(example)))


def test_every_kind_is_in_the_docs():
    assert {row[0] for row in ROWS} == KINDS.built_in
