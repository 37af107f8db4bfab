"""`ckpt rollback` says of each kind of sink what becomes of it."""

from __future__ import annotations

import json
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


def test_only_the_log_of_a_file_sink_can_be_trimmed(checkpoint, table, capsys):
    options = ["--sink", f"delta:{table}", "--trim-sink-log", "--json"]
    assert run(["rollback", str(checkpoint), "--to-batch", str(KEEP), *options]) == 4
    assert "only a file sink" in capsys.readouterr().out


def test_a_table_that_is_not_there_stops_the_plan(checkpoint, tmp_path, capsys):
    options = ["--sink", f"delta:{tmp_path / 'nowhere'}", "--json"]
    assert run(["rollback", str(checkpoint), "--to-batch", str(KEEP), *options]) == 3
    assert "not a Delta table" in capsys.readouterr().out
