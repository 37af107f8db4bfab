"""A fleet whose sources are asked: how far each query is behind, and what its restart would lose."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.fleet import read_positions
from airflow_provider_ckpt.fleet.read_positions import FleetPositions
from airflow_provider_ckpt.query.deploy import Deploys
from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
from airflow_provider_ckpt.storage.store import Store
from tests.goldens import unpack
from tests.kafka_checkpoint import commit_batch
from tests.sources import delta_stops

pytestmark = pytest.mark.timeout(180)
NOW_MS = 1_767_225_600_000


@pytest.fixture
def fleet(tmp_path, capsys, monkeypatch):
    """The command for two queries of directories and one of a rate source; the rows by name, the rest, the exit code."""
    monkeypatch.setenv("COLUMNS", "300")
    root = tmp_path / "fleet"
    for name, offset in (("a", '{"logOffset":-1}'), ("b", '{"logOffset":-1}'), ("c", "5")):
        commit_batch(root / name, 0, offset)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/x").write_bytes(b"12345")

    def call(*options: str) -> tuple[dict[str, dict], dict, int]:
        code = run(["fleet", str(root), *options, "--json"])
        document = json.loads(capsys.readouterr().out)
        return {Path(row["location"]).name: row for row in document["checkpoints"]}, document["summary"], code

    def declare(**queries: str) -> None:
        lines = (f"  {name}: {{checkpoint: {root}/{name}, {said}}}\n" for name, said in queries.items())
        call.file.write_text(f"format_version: 1\nqueries:\n{''.join(lines)}")

    call.root, call.file, call.declare = root, tmp_path / "fleet.yaml", declare
    declare(a=f"sources: ['file:{tmp_path}/in']", b=f"sources: ['file:{tmp_path}/absent']", c="sources: [rate]")
    return call


def test_each_query_is_asked_for_its_own_sources_and_what_cannot_be_asked_is_no_pass(fleet):
    rows, summary, code = fleet("--file", str(fleet.file))
    assert [source["total"] for source in rows["a"]["lag"]] == [1]
    assert rows["a"]["lag_error"] is None
    assert rows["b"]["lag"] is None and "absent" in rows["b"]["lag_error"]
    assert "lag" in rows["b"]["unknown"] and "lag" not in rows["a"]["unknown"]
    assert "lag" in rows["c"]["unknown"], "types alone say nothing of a place"
    assert (summary["sources_unreadable"], code) == (1, 1)
    assert rows["a"]["planned_at_ms"] == 1_767_225_600_000


def test_a_position_that_cannot_be_read_is_a_row_and_no_pass(fleet):
    commit_batch(fleet.root / "a", 0, '{"logOffset":"1"}')
    row = fleet("--file", str(fleet.file))[0]["a"]
    assert row["lag_error"] is None and "lag" in row["unknown"]
    assert [(source["total"], source["is_partial"]) for source in row["lag"]] == [(None, True)]


def test_a_source_that_does_not_answer_is_no_pass(fleet, tmp_path):
    deploy = "sink: console, confs: {}, operators: []"
    sources = {"a": f"['file:{tmp_path}/in']", "b": f"['file:{tmp_path}/absent']", "c": "[rate]"}
    fleet.declare(**{name: f"sources: {said}, {deploy}" for name, said in sources.items()})
    rows, summary, _ = fleet("--file", str(fleet.file), "--deep", "--spark-version", "4.3")
    assert (rows["a"]["decision"], rows["a"]["unknown"]) == ("pass", [])
    assert (rows["b"]["decision"], rows["b"]["unknown"]) == ("warn", ["lag"])
    assert (rows["c"]["decision"], rows["c"]["unknown"]) == ("warn", ["lag"]), "its type alone was declared"
    assert summary["decision"] == "warn"
    fleet.declare(a=f"sources: [file], {deploy}")
    assert fleet("--file", str(fleet.file))[0]["a"]["unknown"][-2:] == ["data loss of source 0", "lag"]


def test_without_a_declaration_nobody_is_asked(fleet):
    rows, summary, code = fleet()
    assert {name: row["lag"] for name, row in rows.items()} == dict.fromkeys("abc")
    assert (summary["sources_unreadable"], code) == (0, 0)
    assert "lag" not in summary["unknown"]


def test_people_see_the_lag_in_the_rows(fleet, capsys):
    assert run(["fleet", str(fleet.root), "--file", str(fleet.file)]) == 1
    out = capsys.readouterr().out
    assert "1 whose sources could not be asked" in out.splitlines()[0]
    assert "1 file" in out


def test_prometheus_gets_one_text(fleet, capsys):
    run(["fleet", str(fleet.root), "--file", str(fleet.file), "--format", "openmetrics"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "# EOF"
    assert [line[-1] for line in lines if line.startswith("ckpt_checkpoint_readable{")] == ["1", "0", "1"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--ages",), "--ages needs --source, or sources in the query file"),
        (("--kafka-config", "a=b"), "need --source"),
        (("--json", "--format", "openmetrics"), "give either --json or --format openmetrics"),
        (("--source", "0=rate", "--source-option", "0.limit=5"), "is no option of a source"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(fleet, capsys, options, says):
    assert run(["fleet", str(fleet.root), *options]) == 2
    assert says in capsys.readouterr().err


def test_a_file_that_is_none_is_a_usage_error(fleet, capsys):
    fleet.file.write_text("format_version: 1\nqueries: 5")
    assert run(["fleet", str(fleet.root), "--file", str(fleet.file)]) == 2
    assert "line 2, queries: it is not a mapping" in capsys.readouterr().err


def test_losses_are_findings_and_one_connection_serves_all(kafka, tmp_path, capsys, monkeypatch):
    topics = [kafka.create() for _ in range(3)]
    for number, topic in enumerate(topics):
        kafka.produce(topic, 30, timestamp_ms=NOW_MS - 60_000)
        commit_batch(tmp_path / f"fleet/q{number}", 0, {topic: {0: 10}})
    kafka.delete_before(topics[1], 15)
    ids = tmp_path / "ids.json"
    fleet = ("fleet", str(tmp_path / "fleet"), "--source", f"0=kafka:{kafka.bootstrap}", "--topic-ids", str(ids))
    assert run([*fleet, "--ages", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    rows = document["checkpoints"]
    assert [[item["code"] for item in row["findings"]] for row in rows] == [[], ["CKPT250"], []]
    assert [row["lag"][0]["total"] for row in rows] == [20, 15, 20]
    assert [row["lag"][0]["lost"] for row in rows] == [0, 5, 0]
    assert all(row["lag"][0]["age_ms"] for row in rows)
    assert not any("topic ids" in row["unknown"] for row in rows), "each has records of before the commit"
    kafka.delete_before(topics[1], 30)
    assert run([*fleet, "--spark-version", "4.3", "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)["checkpoints"]
    assert [row["decision"] for row in rows] == ["warn", "block", "warn"], "the sink was not declared"
    assert not any("topic ids" in row["unknown"] for row in rows)

    deploys = Deploys(over={"sources": [f"kafka:{kafka.bootstrap}"]})
    brokers = Brokers({})
    monkeypatch.setattr(read_positions, "Brokers", lambda _, configs: brokers)
    positions = FleetPositions(deploys, Store.open, {}, NOW_MS)
    stores = [Store.open(str(tmp_path / f"fleet/q{number}")) for number in range(3)]
    views = [observe(store) for store in stores]
    positions.read_ahead(views)
    assert [positions.of(view, store).sources[0].total for view, store in zip(views, stores, strict=True)] == [
        20,
        0,
        20,
    ]
    assert brokers.requests == 3, "the beginnings, the ends, and the times of the first records"


def test_a_topic_that_is_gone_is_a_finding_of_its_own_query(kafka, tmp_path, capsys):
    topic = kafka.create()
    kafka.produce(topic, 5)
    commit_batch(tmp_path / "fleet/a", 0, {topic: {0: 1}})
    commit_batch(tmp_path / "fleet/b", 0, {"no-such-topic": {0: 1}})
    assert run(["fleet", str(tmp_path / "fleet"), "--source", f"0=kafka:{kafka.bootstrap}", "--json"]) == 1
    first, second = json.loads(capsys.readouterr().out)["checkpoints"]
    assert (first["lag"][0]["total"], first["findings"]) == (4, [])
    assert [item["code"] for item in second["findings"]] == ["CKPT251"]


def test_what_stops_a_delta_source_is_a_finding_of_its_query(tmp_path, capsys):
    case = next(
        case for case in delta_stops.unpacked(unpack(delta_stops.RECORDED, tmp_path)) if case.name == "a row is deleted"
    )
    options = [f"--source-option=0.{name}={value}" for name, value in case.options.items()]
    code = run(["fleet", str(case.checkpoint), "--source", f"0=delta:{case.table}", *options, "--json"])
    (row,) = json.loads(capsys.readouterr().out)["checkpoints"]
    assert (code, row["lag"][0]["unit"], row["lag_error"]) == (1, "versions", None)
    assert case.does["condition"] in [item["spark_error"] for item in row["findings"]]
