"""What ``ckpt log`` prints for people."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.cli import run

FILES, TYPE = "the names of files (--files shows them)", "sources whose type is not known (--source 0=TYPE)"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--last", "3"), f"5 earlier batches (--last 8 shows all); {FILES}"),
        (("--last", "7", "--source", "0=file"), f"1 earlier batch (--last 8 shows all); {FILES}"),
        (("--last", "8", "--source", "0=file", "--files"), None),
        (("--source", "0=file"), FILES),
        (("--batch", "2", "--source", "0=file"), FILES),
    ],
)
def test_it_says_what_it_leaves_out_and_what_shows_it(golden, capsys, options, said):
    assert run(["log", str(golden("agg-hdfs")), *options]) == 0
    text = capsys.readouterr().out
    assert (f"Left out: {said}.\n" in text) if said else ("Left out" not in text)


def test_partitions_are_said_to_be_added_up(golden, capsys):
    place = golden("rate")
    for batch in (1, 2):
        entry = place / f"offsets/{batch}"
        lines = entry.read_text().splitlines()
        entry.write_text("\n".join([*lines[:2], json.dumps({"orders": {"0": batch, "1": 2 * batch}})]))
        (place / f"offsets/.{batch}.crc").unlink(missing_ok=True)
    assert run(["log", str(place), "--batch", "2", "--source", "0=kafka"]) == 0
    assert "Left out: 2 partitions, which are added up (ckpt diff shows each).\n" in capsys.readouterr().out


def test_a_batch_without_a_commit_is_said_to_have_none_and_lines_fit_a_terminal(golden, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    place = golden("agg-hdfs")
    (place / "commits/7").unlink()
    assert run(["log", str(place), "--source", "0=file"]) == 0
    table = [line for line in capsys.readouterr().out.splitlines() if line[:1] in {"│", "┃"}]
    assert max(map(len, table)) <= 80 and sum("no commit" in line for line in table) == 1


def test_a_type_that_the_log_of_a_source_proves_counts_and_is_said_to_be_read(golden, capsys):
    checkpoint = str(golden("agg-hdfs"))
    assert run(["log", checkpoint, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["types_read"]["0"]["source_type"] == "file"
    assert {source["unit"] for batch in document["batches"] for source in batch["sources"]} == {"log entries"}
    assert run(["log", checkpoint]) == 0
    assert "not declared." in capsys.readouterr().out
    assert run(["log", checkpoint, "--source", "0=file", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["types_read"] == {}


def test_a_type_that_not_every_entry_fits_is_not_used(golden, capsys):
    checkpoint = golden("agg-hdfs")
    entry = checkpoint / "offsets/6"
    entry.write_text(entry.read_text().rpartition("\n")[0] + '\n{"orders":{"0":1}}')
    (checkpoint / "offsets/.6.crc").unlink()
    assert run(["log", str(checkpoint), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["types_read"] == {}
    assert {source["source_type"] for batch in document["batches"] for source in batch["sources"]} == {None}
    assert run(["log", str(checkpoint), "--last", "3"]) == 0
    said = f"Left out: 5 earlier batches (--last 8 shows all); how much was read of {TYPE}.\n"
    assert said in capsys.readouterr().out
