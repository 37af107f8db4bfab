"""``ckpt show`` of a query whose sources are declared."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.cli import run
from tests.kafka_checkpoint import commit_batch

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def show(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/x").write_bytes(b"12345")
    commit_batch(tmp_path / "q", 3, '{"logOffset":-1}', "5")

    def call(*options: str) -> tuple[int, str, str]:
        code = run(["show", str(tmp_path / "q"), *options])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_the_lag_is_that_of_ckpt_lag(show, tmp_path, capsys):
    sources = ("--source", f"0=file:{tmp_path}/in", "--source", "1=rate")
    code, out, _ = show(*sources, "--json")
    shown = json.loads(out)["lag"]
    run(["lag", str(tmp_path / "q"), *sources, "--json"])
    lags = json.loads(capsys.readouterr().out)["sources"]
    assert code == 0
    assert [item["total"] for item in shown] == [item["total"] for item in lags] == [1, None]
    out = show(*sources)[1]
    assert "1 file" in out and "Source 1: a rate source has no end that can be asked for." in out


def test_without_sources_nobody_is_asked(show):
    code, out, _ = show("--json")
    assert (code, json.loads(out)["lag"]) == (0, None)
    assert "Lag" not in show()[1]


def test_the_sources_may_be_those_of_the_query_file(show, tmp_path):
    file = tmp_path / "ckpt.yaml"
    file.write_text(f"format_version: 1\nqueries: {{q: {{checkpoint: q, sources: ['file:{tmp_path}/in', rate]}}}}\n")
    code, out, _ = show("--file", str(file), "--json")
    assert (code, [item["total"] for item in json.loads(out)["lag"]]) == (0, [1, None])


def test_partitions_that_are_furthest_behind_are_shown(kafka, show, tmp_path):
    topic = kafka.create(12)
    for partition in range(12):
        kafka.produce(topic, partition + 1, partition)
    commit_batch(tmp_path / "q", 4, {topic: dict.fromkeys(range(12), 1)})
    code, out, _ = show("--source", f"0=kafka:{kafka.bootstrap}")
    assert code == 0
    assert "at most 66 offsets" in out
    assert "Source 0: partitions furthest behind, and 2 more with 1 unread in all" in out
    assert f"{topic}-11" in out and f"{topic}-0 " not in out
