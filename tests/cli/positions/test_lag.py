"""``ckpt lag``, of directories, which need no broker."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.cli.positions import lag as command
from airflow_provider_ckpt.sources.kafka.extent import Extent
from airflow_provider_ckpt.sources.lag import lag_of_kafka
from tests.kafka_checkpoint import commit_batch


@pytest.fixture
def lag(tmp_path, capsys):
    """The command for a query of two directories, of which it has read nothing."""
    commit_batch(tmp_path / "checkpoint", 3, '{"logOffset":-1}', "5")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a").write_bytes(b"12345")

    def call(*options: str) -> tuple[int, str, str]:
        code = run(["lag", str(tmp_path / "checkpoint"), *options])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def sources(tmp_path) -> tuple[str, ...]:
    return ("--source", f"0=file:{tmp_path}/in", "--source", "1=rate")


def test_people_see_a_row_for_each_source(lag, tmp_path):
    code, out, _ = lag(*sources(tmp_path))
    assert code == 0
    assert "1 file" in out and "5 bytes" in out and "batch 3" in out
    assert "Source 1: a rate source has no end that can be asked for." in out


def test_what_stops_spark_is_said_before_the_numbers(lag, monkeypatch):
    past_end = lag_of_kafka("0", {("t", 0): 9}, Extent({"t": "id"}, {("t", 0): 0}, {("t", 0): 4}), {})
    monkeypatch.setattr(command, "read_lag", lambda *_: (past_end,))
    code, out, _ = lag("--source", "0=kafka:nobody-asks:9092")
    assert code == 0
    assert out.startswith(
        "Source 0: Spark does not start, unless failOnDataLoss is false: the query is past the end of t-0"
    )


@pytest.mark.parametrize(
    ("offset", "why"),
    [
        ('{"logOffset":"12"}', "source 0 has an offset that is not an offset of the source type file"),
        ("12.0", "source 0 has an offset that is not an offset of the source type file"),
        ('{"t":{"0":4}}', "source 0 has an offset that is not an offset of the source type file"),
        ('{"logOffset":2}', "sources/0/0: is missing in the source's log"),
    ],
)
def test_a_source_whose_position_cannot_be_read_is_one_row(lag, tmp_path, offset, why):
    commit_batch(tmp_path / "checkpoint", 3, offset, '{"logOffset":-1}')
    declared = ("--source", f"0=file:{tmp_path}/in", "--source", f"1=file:{tmp_path}/in")
    code, out, _ = lag(*declared)
    assert code == 0 and f"Source 0: how far it is behind is not known: {why}" in out and "1 file" in out
    odd, sound = json.loads(lag(*declared, "--json")[1])["sources"]
    assert (odd["total"], odd["is_partial"], sound["total"]) == (None, True, 1)
    code, _, err = lag(*declared, "--max", "10")
    assert code == 1 and "nobody can tell: where the query is in it cannot be read" in err


def test_an_entry_without_offsets_is_one_row_for_each_declared_source(lag, tmp_path):
    commit_batch(tmp_path / "checkpoint", 3)
    code, out, _ = lag("--source", f"0=file:{tmp_path}/in")
    assert code == 0 and "not known: the newest entry of the offset log has no offsets" in out


def test_machines_get_one_document(lag, tmp_path):
    code, out, _ = lag(*sources(tmp_path), "--json")
    document = json.loads(out)
    assert (code, document["latest_committed_batch"]) == (0, 3)
    assert [(source["total"], source["bytes"]) for source in document["sources"]] == [(1, 5), (None, None)]
    assert lag(*sources(tmp_path), "--format", "json")[1].count("format_version") == 1


@pytest.mark.parametrize(
    ("most", "code"),
    [("0", 1), ("1", 0), ("10000", 0), ("5m", 1)],
    ids=["none", "one", "many", "an age that nobody knows"],
)
def test_a_query_that_is_too_far_behind_ends_with_one(lag, tmp_path, most, code):
    an_hour_ago = time.time() - 3_600
    os.utime(tmp_path / "in/a", (an_hour_ago, an_hour_ago))
    ended, _, error = lag(*sources(tmp_path), "--max", most)
    assert ended == code
    assert (f"Source 0 is more than {most} behind, or nobody can tell: 1 files are unread" in error) == bool(code)


@pytest.mark.parametrize(("age_ms", "code"), [(299_999, 0), (300_001, 1), (None, 1)])
def test_the_oldest_unread_record_may_be_so_old(lag, monkeypatch, age_ms, code):
    asked = []
    unread = replace(
        lag_of_kafka("0", {("t", 0): 9}, Extent({"t": "id"}, {("t", 0): 0}, {("t", 0): 14}), {}), age_ms=age_ms
    )
    monkeypatch.setattr(command, "read_lag", lambda view, question, *_: asked.append(question) or (unread,))
    assert lag("--source", "0=kafka:nobody-asks:9092", "--max", "5m", "--json")[0] == code
    assert asked[0].ages, "ages are asked for"


def test_prometheus_gets_metrics(lag, tmp_path):
    code, out, _ = lag(*sources(tmp_path), "--format", "openmetrics")
    query_id = json.loads((tmp_path / "checkpoint/metadata").read_text())["id"]
    assert code == 0
    assert f'ckpt_source_lag_files{{checkpoint="{tmp_path}/checkpoint",query="{query_id}",source="0"}} 1\n' in out
    assert out.endswith("# EOF\n")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "no source was declared"),
        (("--source", "0=rate", "--json", "--format", "text"), "give either --json or --format text"),
        (("--source", "0=rate", "--source-option", "0.limit=5"), "is no option of a source"),
        (("--source", "0=nothing"), "unknown source type 'nothing'"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(lag, options, says):
    code, _, err = lag(*options)
    assert code == 2
    assert says in err


def test_a_source_that_the_query_does_not_have_is_an_error(lag):
    code, _, err = lag("--source", "7=rate")
    assert code == 3
    assert "the query has no source '7'; its sources are 0, 1" in err
