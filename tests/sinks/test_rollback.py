"""`ckpt rollback` says of each kind of sink what becomes of it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, Transaction, write_deltalake

from airflow_provider_ckpt.cli import run

KEEP = 2


@pytest.fixture
def checkpoint(golden) -> Path:
    return golden("file-to-parquet-5")


@pytest.fixture
def table(checkpoint, tmp_path) -> Path:
    """A Delta table that the query of the checkpoint has written."""
    query_id = json.loads((checkpoint / "metadata").read_text())["id"]
    for batch in range(5):
        marked = CommitProperties(app_transactions=[Transaction(query_id, batch)])
        write_deltalake(tmp_path / "orders", pa.table({"value": [batch]}), mode="append", commit_properties=marked)
    return tmp_path / "orders"


def effect(checkpoint: Path, capsys, *options: str) -> dict[str, str]:
    """The effect of a plan to roll back to KEEP."""
    assert run(["rollback", str(checkpoint), "--to-batch", str(KEEP), "--json", *options]) == 0
    (found,) = json.loads(capsys.readouterr().out)["plan"]["sink_effects"]
    return found


def test_a_table_is_read_with_the_id_of_the_query(checkpoint, table, capsys):
    found = effect(checkpoint, capsys, "--sink", f"delta:{table}")
    assert (found["sink"], found["effect"]) == (f"delta:{table}", "skipped")
    assert f'DeltaTable("{table}").restore(2, ' in found["remedy"]


def test_a_query_with_another_id_is_not_the_table_s(checkpoint, table, capsys):
    (checkpoint / "metadata").write_text('{"id":"00000000-0000-0000-0000-000000000000"}')
    before = sorted(checkpoint.rglob("*"))
    options = ["--sink", f"delta:{table}", "--json"]
    assert run(["rollback", str(checkpoint), "--to-batch", str(KEEP), *options]) == 4
    refused = json.loads(capsys.readouterr().out)["error"]
    assert (
        f"the sink delta:{table} does not fit the query: it has no record of a batch of 00000000-" in refused["message"]
    )
    assert "must be accepted" in refused["hint"] and sorted(checkpoint.rglob("*")) == before


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--sink", "kafka:orders"), ("kafka:orders", "duplicated")),
        (("--sink", "foreachBatch"), ("foreachBatch", "unknown")),
        (("--sink", "noop"), ("noop", "exact")),
        ((), ("not declared", "unknown")),
    ],
)
def test_a_sink_that_remembers_nothing(checkpoint, capsys, options, expected):
    found = effect(checkpoint, capsys, *options)
    assert (found["sink"], found["effect"]) == expected


@pytest.fixture
def deduplicating(golden, tmp_path) -> tuple[Path, Path]:
    """A query with state, and the log of its file sink."""
    checkpoint, log = golden("drop-duplicates"), tmp_path / "unique" / "_spark_metadata"
    log.mkdir(parents=True)
    for batch in sorted(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit()):
        (log / str(batch)).write_text("v1")
    return checkpoint, log.parent


def test_a_query_with_state_would_stop_and_that_is_not_accepted_as_skipped(deduplicating, capsys):
    checkpoint, output = deduplicating
    options = ["--sink", f"file:{output}"]
    found = effect(checkpoint, capsys, *options)
    assert found["effect"] == "stops" and "--trim-sink-log" in found["remedy"]
    how = ["--execute", "--i-know-it-is-stopped", "--quiet-period", "0", "--json"]
    before = sorted(checkpoint.rglob("*"))
    assert run(["rollback", str(checkpoint), "--to-batch", "2", *options, "--accept-sink", "skipped", *how]) == 4
    refused = json.loads(capsys.readouterr().out)["error"]
    assert "is that the query stops: " in refused["message"] and "--accept-sink stops" in refused["hint"]
    assert sorted(checkpoint.rglob("*")) == before
    assert effect(checkpoint, capsys, *options, "--trim-sink-log")["effect"] == "exact"


def test_the_remedy_of_a_file_sink_is_the_first_command_and_its_cost_stands_at_the_other(deduplicating, capsys):
    checkpoint, output = deduplicating
    words = ["rollback", str(checkpoint), "--to-batch", "2", "--sink", f"file:{output}", "--accept-sink", "skipped"]
    assert run(words) == 0
    *_, remedy, cost, accepting = capsys.readouterr().out.rstrip().splitlines()
    assert remedy == f"ckpt rollback {checkpoint} --to-batch 2 --sink file:{output} --trim-sink-log"
    assert cost == (
        "Or, to apply this plan and accept that the query stops (rows are lost, and the query then stops for good):"
    )
    assert accepting.endswith("--accept-sink skipped --execute --i-know-it-is-stopped --accept-sink stops")
    assert run([*shlex.split(remedy)[1:], "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert (planned["sink_effect"], planned["remedy_command"]) == ("exact", None)


def test_the_remedy_of_a_sink_that_is_not_declared_is_to_declare_it(checkpoint, capsys):
    assert run(["rollback", str(checkpoint), "--to-batch", "2", "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert planned["remedy_command"] == f"ckpt rollback {checkpoint} --to-batch 2 --sink TYPE[:URI]"


def test_the_gate_says_it_before_the_query_stops(deduplicating, capsys):
    checkpoint, output = deduplicating
    newest = max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit())
    for log in ("commits", "offsets"):
        (checkpoint / log / str(newest)).unlink()
    assert run(["gate", str(checkpoint), "--sink", f"file:{output}", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    (found,) = (item for item in told["findings"] if item["code"] == "CKPT140")
    assert told["decision"] == "block" and f"stops for good at batch {newest + 1}" in found["message"]


def test_only_the_log_of_a_file_sink_can_be_trimmed(checkpoint, table, capsys):
    options = ["--sink", f"delta:{table}", "--trim-sink-log", "--json"]
    assert run(["rollback", str(checkpoint), "--to-batch", str(KEEP), *options]) == 4
    assert "only a file sink" in capsys.readouterr().out


def test_a_table_that_is_not_there_stops_the_plan(checkpoint, tmp_path, capsys):
    options = ["--sink", f"delta:{tmp_path / 'nowhere'}", "--json"]
    assert run(["rollback", str(checkpoint), "--to-batch", str(KEEP), *options]) == 3
    assert "not a Delta table" in capsys.readouterr().out
