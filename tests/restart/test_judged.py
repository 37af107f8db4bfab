"""Not judged is not a pass: what was neither declared nor read is named, and keeps the gate from a pass."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.query.deploy import DeploySpec, declare
from airflow_provider_ckpt.restart.forecast import Forecast, forecast
from airflow_provider_ckpt.restart.gate import forecast_restart
from airflow_provider_ckpt.storage.store import Store

#: A deploy that says all that there is to say of a stateful query that reads files and writes to a console.
DEPLOY = {
    "spark_version": "4.3",
    "confs": {"spark.sql.shuffle.partitions": "2"},
    "sources": ["file:/golden"],
    "sink": "console",
    "operators": ["stateStoreSave"],
}
#: What no declaration tells of a stateful query; it alone is no warning.
FIELDS = "fields of state"


def gate(home: Path, document: dict[str, object], *, quick: bool = False) -> Forecast:
    store = Store.open(str(home))
    return forecast_restart(store, declare(DeploySpec(), document), Store.open, quick=quick)[1]


def test_a_deploy_that_says_everything_passes(golden):
    """But it says that nobody has judged which fields the code now gives to the state."""
    foretold = gate(golden("agg-hdfs"), DEPLOY)
    assert (foretold.decision, foretold.unknown) == ("pass", (FIELDS,))
    stateless = gate(golden("file-to-parquet-12"), {**DEPLOY, "confs": {}, "operators": []})
    assert (stateless.decision, stateless.unknown) == ("pass", ())


@pytest.mark.parametrize(("change", "unknown"), [
    ({"spark_version": None}, ("spark_version",)),
    ({"confs": None}, ("confs",)),
    ({"confs": {}}, ()),
    ({"sources": None}, ("sources",)),
    ({"sources": 1}, ("source types",)),
    ({"sources": {"0": None}}, ("source types", "data loss of source 0")),
    ({"sources": ["file"]}, ("data loss of source 0",)),
    ({"sources": {"0": "file"}}, ("data loss of source 0",)),
    ({"operators": None}, ("operators",)),
    ({"sink": None}, ("sink",)),
    ({"sink": "unknown"}, ("sink",)),
    (dict.fromkeys(DEPLOY), ("spark_version", "confs", "sources", "operators", "sink")),
])  # fmt: skip
def test_what_is_not_declared_is_named_and_is_no_pass(golden, change, unknown):
    foretold = gate(golden("agg-hdfs"), {**DEPLOY, **change})
    fields = () if {**DEPLOY, **change}["operators"] is None else (FIELDS,)
    assert set(foretold.unknown) == {*unknown, *fields} and foretold.decision == ("warn" if unknown else "pass")


@pytest.mark.parametrize("lost", ["agg-hdfs", "agg-rocksdb", "file-to-parquet-12"])
def test_without_state_the_logs_do_not_tell_whether_it_was_lost(golden, lost, capsys):
    checkpoint = golden(lost)
    shutil.rmtree(checkpoint / "state", ignore_errors=True)
    assert "operators" in gate(checkpoint, {**DEPLOY, "operators": None, "confs": {}}).unknown
    run(["check", str(checkpoint), "--deep"])
    assert "number of operators" in capsys.readouterr().out


@pytest.mark.parametrize("declared", [{"operators": []}, {"operators": None, "async_progress": True}])
def test_a_query_that_says_that_it_is_stateless_has_no_operators_to_declare(golden, declared):
    foretold = gate(golden("file-to-parquet-12"), {**DEPLOY, "confs": {}, **declared})
    assert (foretold.unknown, foretold.decision) == ((), "pass")


def test_a_query_that_has_lost_its_state_has_operators_to_declare(golden):
    checkpoint = golden("agg-rocksdb-v2")
    shutil.rmtree(checkpoint / "state")
    assert "operators" in gate(checkpoint, {**DEPLOY, "operators": None}).unknown


def test_an_empty_log_has_nothing_that_sources_must_fit(tmp_path):
    for name in ("offsets", "commits"):
        (tmp_path / name).mkdir()
    (tmp_path / "metadata").write_text('{"id":"6c9b7d2e-6f3a-4a5e-9b1e-2f6d1c0b7a11"}')
    foretold = gate(tmp_path, {**DEPLOY, "sources": None, "operators": None})
    assert (foretold.unknown, foretold.decision, foretold.resumes_at_batch) == ((), "pass", 0)


def test_quick_reads_the_logs_alone_and_never_passes(golden):
    checkpoint = golden("agg-hdfs")
    shutil.rmtree(checkpoint / "state/0/0")
    quick = gate(checkpoint, DEPLOY, quick=True)
    assert (quick.decision, quick.unknown) == ("warn", ("state", "source logs", "checksum files", FIELDS))
    assert gate(checkpoint, DEPLOY).decision == "block"


@pytest.mark.parametrize(
    "sink", ["file:/lake/orders", "parquet:/lake/orders", "csv:/lake/orders", "delta:/lake/orders"]
)
def test_a_sink_that_skips_batches_and_was_not_read_is_named(golden, sink):
    view = examine(Store.open(str(golden("agg-hdfs"))), deep=True)
    foretold = forecast(view, declare(DeploySpec(), {**DEPLOY, "sink": sink}))
    assert (foretold.decision, foretold.unknown) == ("warn", ("sink log", FIELDS))


@pytest.mark.parametrize(("last_batch", "decision"), [(None, "pass"), (7, "pass"), (8, "block"), (99, "block")])
def test_what_a_table_remembers_is_judged(golden, last_batch, decision):
    """The checkpoint goes on with batch 8, and a table skips every batch that it has seen."""
    view = examine(Store.open(str(golden("agg-hdfs"))), deep=True)
    deploy = declare(DeploySpec(), {**DEPLOY, "sink": "delta:s3://lake/orders"})
    assert forecast(view, deploy).unknown == ("sink log", FIELDS)
    marker = SinkMarker("delta", "s3://lake/orders", "", last_batch)
    foretold = forecast(replace(view, marker=marker), deploy)
    assert (foretold.decision, foretold.unknown) == (decision, (FIELDS,))
    assert {finding.code for finding in foretold.findings} == ({"CKPT140"} if decision == "block" else set())


@pytest.mark.parametrize(("arguments", "code", "first"), [
    ((), 0, "WARN {}: Spark starts and runs batch 8; whether there is new data for it was not read; not judged: "
     "spark_version, confs, sources, operators, sink"),
    (("--fail-on", "warn"), 1, "WARN {}: Spark starts"),
    (("--quick",), 0, "WARN {}: Spark starts and runs batch 8; whether there is new data for it was not read; not "
     "judged: spark_version, confs, sources, operators, sink, state, source logs, checksum files"),
    (("--file", "ckpt.yaml", "--fail-on", "warn"), 0, "PASS {}: Spark starts and runs batch 8; whether there is "
     "new data for it was not read; not judged: fields of state"),
    (("--file", "ckpt.yaml", "--quick", "--fail-on", "warn"), 1, "WARN {}: Spark starts and runs batch 8; whether "
     "there is new data for it was not read; not judged: state, source logs, checksum files"),
    (("--file", "ckpt.yaml", "--conf", "spark.sql.shuffle.partitions=8"), 1, "BLOCK {}: Spark starts and runs "
     "batch 8, but spark.sql.shuffle.partitions = 8 will be ignored"),
    (("--file", "ckpt.yaml", "--source-count", "3"), 1, "BLOCK {}: Spark stops with AssertionError, because"),
    (("--file", "ckpt.yaml", "--operator", "dedupe"), 1, "BLOCK {}: Spark stops with STREAMING_STATEFUL"),
])  # fmt: skip
def test_the_first_line_says_the_decision_and_what_was_not_judged(
    golden, capsys, monkeypatch, tmp_path, arguments, code, first
):
    checkpoint = golden("agg-hdfs")
    entry = {**DEPLOY, "checkpoint": str(checkpoint)}
    (tmp_path / "ckpt.yaml").write_text(json.dumps({"format_version": 1, "queries": {"a": entry}}))
    monkeypatch.chdir(tmp_path)
    arguments = arguments if "--file" in arguments else (*arguments, "--file", "none")
    assert run(["gate", str(checkpoint), *arguments]) == code
    out = capsys.readouterr().out
    assert out.startswith(first.format(checkpoint)), out.partition("\n")[0]
    assert run(["gate", str(checkpoint), *arguments, "--json"]) == code
    document = json.loads(capsys.readouterr().out)
    assert document["decision"] == first.split()[0].lower()


def test_tables_without_a_checksum_file_are_named(golden, capsys):
    """RocksDB alone reads what is in them; of those beside a checksum file every byte is read."""
    checkpoint = golden("agg-rocksdb")
    deploy = {**DEPLOY, "confs": {}}
    assert (gate(checkpoint, deploy).unknown, gate(checkpoint, deploy).decision) == ((FIELDS,), "pass")
    for table in checkpoint.glob("state/0/*/SSTs/*.sst"):
        table.write_bytes(b"\0" * table.stat().st_size)
    assert gate(checkpoint, deploy).decision == "block"
    for sidecar in checkpoint.glob("state/0/*/SSTs/.*.crc"):
        sidecar.unlink()
    assert (gate(checkpoint, deploy).unknown, gate(checkpoint, deploy).decision) == (("state tables", FIELDS), "warn")
    assert run(["check", str(checkpoint), "--deep"]) == 0
    assert "not judged: state tables" in capsys.readouterr().out


@pytest.mark.parametrize(("sink", "found"), [("parquet", []), ("file", []), ("Parquet", []), ("json", ["CKPT240"])])
def test_a_sink_that_has_written_files_of_another_format_is_no_pass(golden_home, sink, found):
    home = golden_home("file-to-parquet-12")
    foretold = gate(home / "checkpoint", {**DEPLOY, "operators": [], "confs": {}, "sink": f"{sink}:{home / 'output'}"})
    assert [item.code for item in foretold.findings] == found
    assert foretold.decision == ("warn" if found else "pass")


def test_a_check_says_that_it_read_the_logs_alone(golden, capsys):
    checkpoint = golden("agg-hdfs")
    assert run(["check", str(checkpoint)]) == 0
    assert capsys.readouterr().out == f"{checkpoint}: no findings; not judged: state, source logs, checksum files\n"
    assert run(["check", str(checkpoint), "--deep"]) == 0
    assert capsys.readouterr().out == f"{checkpoint}: no findings; not judged: number of operators\n"
