"""The command ``ckpt export``: a position as what another reader takes."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.documents.positions import ExportDocument
from tests.json_documents import problems
from tests.kafka_query import FIRST_MS, KafkaQuery


@pytest.fixture
def location(tmp_path) -> str:
    """Three batches, a millisecond apart, of one source."""
    query = KafkaQuery(tmp_path / "orders")
    for end in (10, 20, 30):
        query.commit({"t": {"1": end, "0": 0}})
    return str(query.checkpoint)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("--as startingOffsets", '{"t":{"0":0,"1":30}}'),
        ("--as startingOffsets --batch 0", '{"t":{"0":0,"1":10}}'),
        (f"--as csv --at {FIRST_MS + 1}", "t,0,0\nt,1,20"),
        ("--as csv --source 0", "t,0,0\nt,1,30"),
    ],
)
def test_the_text_alone_is_printed(location, capsys, options, text):
    assert run(["export", location, *options.split()]) == 0
    assert capsys.readouterr().out == f"{text}\n"


def test_the_document_says_which_batch_it_is(location, capsys):
    assert run(["export", location, "--as", "csv", "--batch", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(problems(document, ExportDocument)) == []
    assert (document["batch_id"], document["text"]) == (1, "t,0,0\nt,1,20")


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ("--as startingOffsets --batch 3", 3, "the commit log does not have this batch"),
        (f"--as csv --at {FIRST_MS - 1}", 4, "no committed batch in the logs began at or before"),
        ("--as startingVersion", 3, "/offsets/2: not an offset of the source type delta"),
        ("--as startingVersion", 3, "Choose with --source a source of the type delta, or another form with --as."),
        ("--as csv --source 1", 3, "the query has no source '1'"),
        ("--as csv --batch 1 --at 2026-01-01", 2, "give --batch or --at, not both"),
        ("--as json", 2, "'json' is not one of"),
        ("", 2, "Missing option '--as'"),
    ],
)
def test_what_cannot_be_exported_is_said(location, capsys, options, code, said):
    assert run(["export", location, *options.split()]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
