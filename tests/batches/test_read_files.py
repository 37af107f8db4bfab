"""Which files batches took, by the logs of real checkpoints."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.batches.read_files import FileLogs
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.storage.store import Store


@pytest.fixture
def checkpoint(goldens):
    return goldens["4.3.0/file-to-parquet-12"] / "checkpoint"


def named(files: list[dict[str, object]]) -> list[object]:
    return [file["log_entry"] for file in files]


def test_a_range_of_batches_names_its_files_also_those_that_are_compacted(checkpoint, capsys):
    assert run(["diff", str(checkpoint), "3", "7", "--files", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert named(document["files"]) == [4, 5, 6, 7]
    assert all(file["path"].startswith("file:///") and file["source_id"] == "0" for file in document["files"])
    assert run(["diff", str(checkpoint), "3", "7", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] is None, "only when they are asked for"


def test_each_batch_names_its_own(checkpoint, capsys):
    assert run(["log", str(checkpoint), "--last", "3", "--files", "--json"]) == 0
    batches = json.loads(capsys.readouterr().out)["batches"]
    assert [named(batch["files"]) for batch in batches] == [[batch["batch_id"]] for batch in batches]
    assert run(["log", str(checkpoint), "--batch", "0", "--files"]) == 0
    assert "Files" in capsys.readouterr().out


def test_other_sources_take_no_files(goldens, capsys):
    checkpoint = str(goldens["4.3.0/rate"] / "checkpoint")
    assert run(["log", checkpoint, "--last", "1", "--files"]) == 0
    assert "No file source took a file." in capsys.readouterr().out


def test_an_offset_of_another_kind_is_none_of_a_log(checkpoint):
    logs = FileLogs(Store.open(str(checkpoint)))
    assert list(logs.between("0", '{"t":{"0":1}}', '{"logOffset":3}')) == []
    assert list(logs.between("0", None, None)) == []
    assert [file.log_entry for file in logs.between("0", None, '{"logOffset":1}')] == [0, 1]
