"""Several names, or none: each query of the file has its own declarations."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from airflow_provider_ckpt.cli import check, run
from tests.kafka_checkpoint import commit_batch


@pytest.fixture
def queries(tmp_path, monkeypatch):
    """Two queries of directories, each with one unread file, and a third one of which nothing is declared."""
    for name in "abc":
        commit_batch(tmp_path / "c" / name, 0, '{"logOffset":-1}')
        (tmp_path / f"in-{name}").mkdir()
        (tmp_path / f"in-{name}/x").write_bytes(b"12345")
    declared = {
        "a": "sources: ['file:in-a'], undo: undo/a, backups: backups/a",
        "b": "sources: ['file:in-b'], spark_version: '4.3', confs: {}",
        "c": "alert: {rows: 1}",
    }
    lines = (f"  {name}: {{checkpoint: c/{name}, {said}}}\n" for name, said in declared.items())
    (tmp_path / "ckpt.yaml").write_text(f"format_version: 1\nqueries:\n{''.join(lines)}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CKPT_FILE", raising=False)
    return tmp_path


def ckpt(capsys, *words):
    code = run([*words, "--json"])
    said = capsys.readouterr()
    return code, json.loads(said.out or "{}"), said.err


@pytest.mark.parametrize("names", [("a", "b", "c"), (), ("c",), ("a", "elsewhere")])
def test_a_fleet_is_of_the_named_queries_or_of_all(queries, capsys, names):
    if "elsewhere" in names:
        commit_batch(queries / "elsewhere/d", 0, '{"logOffset":-1}')
    rows = ckpt(capsys, "fleet", *names)[1]["checkpoints"]
    found = {Path(row["location"]).name: row for row in rows}
    assert set(found) == ({"a", "d"} if "elsewhere" in names else {*(names or "abc")})
    for name, row in found.items():
        assert [source["total"] for source in row["lag"] or ()] == ([1] if name in "ab" else []), name
        assert (row["decision"] is not None) == (name == "b")


def test_what_is_found_under_a_root_has_what_is_declared_of_it(queries, capsys):
    rows = ckpt(capsys, "fleet", str(queries / "c"))[1]["checkpoints"]
    assert [len(row["lag"] or ()) for row in rows] == [1, 1, 0]
    assert ckpt(capsys, "fleet", str(queries / "c"), "--file", "none")[1]["checkpoints"][0]["lag"] is None


def test_an_index_has_the_backups_that_the_file_says(queries, capsys):
    assert ckpt(capsys, "backup", "a")[0] == 0
    assert ckpt(capsys, "fleet", "--index", "index")[0] in (0, 1)
    lines = [json.loads(line) for file in (queries / "index").iterdir() for line in file.read_text().splitlines()]
    backups = {Path(row["location"]).name: row.get("backup_id") for row in lines if "location" in row}
    assert [name for name, backup_id in backups.items() if backup_id] == ["a"]


@pytest.mark.parametrize("names", [("a", "b"), ()])
def test_a_check_compares_each_with_its_own_sources(queries, monkeypatch, names):
    asked = {}

    def compared(view, store, sources, opener):
        asked[Path(store.location).name] = [source.place for source in sources.values()]
        return SimpleNamespace(findings=(), unknown=())

    monkeypatch.setattr(check, "_compared", compared)
    run(["check", *names])
    assert asked == {"a": [f"{queries}/in-a"], "b": [f"{queries}/in-b"]}


@pytest.mark.parametrize("names", [("a", "b", "c"), ()])
def test_a_lag_asks_each_for_its_own_sources(queries, capsys, names):
    code, document, err = ckpt(capsys, "lag", *names)
    assert [source["total"] for query in document["queries"] for source in query["sources"]] == [1, 1]
    assert (code, len(document["not_read"])) == (2, 1)
    assert "no source was declared" in document["not_read"][0]
    assert "no source was declared" in err
    code = run(["lag", "a", "b", "--max", "0"])
    said = capsys.readouterr()
    assert (code, said.err.count("is more than 0 behind")) == (1, 2)
    assert run(["lag", "a", "b", "--format", "openmetrics"]) == 0
    assert capsys.readouterr().out.count("# EOF") == 1


@pytest.mark.parametrize("names", [("a", "b"), ()])
def test_a_history_reads_the_records_of_each_where_the_file_says(golden, queries, capsys, names):
    text = (queries / "ckpt.yaml").read_text().replace("checkpoint: c/a", f"checkpoint: {golden('agg-hdfs')}")
    (queries / "ckpt.yaml").write_text(text)
    words = ("--to-batch", "6", "--execute", "--i-know-it-is-stopped", "--quiet-period", "0")
    assert ckpt(capsys, "rollback", "a", *words, "--accept-sink", "unknown")[0] == 0
    code, document, _ = ckpt(capsys, "history", *names)
    assert (code, document["checkpoints"]) == (0, len(names) or 3)
    assert [change["kind"] for change in document["changes"]] == ["rollback"]
    assert run(["history", *(names or ("a", "b")), "--plan", "x"]) == 2
    assert run(["history", *names]) == 0
    assert f"1 change of {len(names) or 3} checkpoints." in capsys.readouterr().out


@pytest.mark.parametrize("command", ["check", "fleet", "history", "lag"])
def test_without_a_location_and_a_file_it_is_a_wrong_use_and_a_broken_file_is_told(queries, capsys, command):
    assert run([command, "--file", "none"]) == 2
    assert "ckpt.yaml" in capsys.readouterr().err
    (queries / "ckpt.yaml").write_text("format_version: 2")
    assert run([command]) == 2
    assert "line 1, format_version: it is 2" in capsys.readouterr().err
    assert run([command, "--help"]) == 0


def test_a_lag_asks_each_cluster_of_a_query_as_it_is_declared(queries, capsys, monkeypatch):
    asked = []
    module = import_module("airflow_provider_ckpt.cli.positions.lag")
    monkeypatch.setattr(module, "read_lag", lambda view, question, access, now_ms: asked.append(access) or ())
    (queries / "ckpt.yaml").write_text(
        "format_version: 1\nkafka:\n  one: {bootstrap.servers: 'b1:9092', client.id: a}\n"
        "  two: {bootstrap.servers: 'b2:9092', client.id: b}\n"
        "queries: {a: {checkpoint: c/a, sources: ['kafka:one/t', 'kafka:two/t']}}\n"
    )
    assert ckpt(capsys, "lag", "a")[0] == 0
    assert [access.kafka_config_of(f"b{number}:9092")["client.id"] for access in asked for number in (1, 2)] == [
        "a",
        "b",
    ]
