"""What ``ckpt show`` prints for people: plain words, and no more than fits a screen."""

from __future__ import annotations

import json
import os
import re

import pytest

from airflow_provider_ckpt.cli import run


@pytest.fixture
def show(golden, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    checkpoint = golden("agg-hdfs")

    def call(*options: str) -> str:
        assert run(["show", str(checkpoint), *options]) == 0
        return capsys.readouterr().out

    call.checkpoint = checkpoint
    return call


def test_people_get_words_and_no_keys_of_the_document(show):
    document, text = json.loads(show("--json")), show()
    assert not [key for key in document if "_" in key and key in text]
    rows = [line.split("│")[1].strip() for line in text.splitlines() if line.count("│") == 3]
    assert rows[:5] == ["newest commit", "in flight", "behind", "watermark", "worst finding"]
    assert "newest commit   │ batch 7, " in text and "once-only confs │ 17; --confs lists them" in text
    assert len(text.splitlines()) < 24


def test_it_says_how_long_ago_the_last_commit_was(show):
    commit = show.checkpoint / "commits" / "7"
    os.utime(commit, (commit.stat().st_atime, 1_000_000_000))
    assert json.loads(show("--json"))["last_commit"] == "2001-09-09T01:46:40.000Z"
    assert re.search(r"newest commit   │ batch 7, \d+ d \d+ h ago, 2001-09-09T01:46:40.000Z", show())


def test_a_commit_of_the_future_is_not_called_a_new_one(show):
    os.utime(show.checkpoint / "commits" / "7", (1_893_456_000, 1_893_456_000))
    said = re.search(r"newest commit .*batch 7, (.*)", show())
    assert said and said[1].startswith("not known how long ago, the clock of the storage")


def test_it_says_how_far_the_watermark_is_behind_and_what_was_not_asked(show):
    text = show()
    assert re.search(r"watermark       │ \S+Z, \d+ d.* before its batch began", text)
    assert "behind          │ not asked; --source says where a source is" in text


def test_the_worst_finding_and_a_batch_in_flight_are_at_the_top(show):
    (show.checkpoint / "commits" / "7").unlink()
    (show.checkpoint / "offsets" / "3").unlink()
    text = show()
    assert re.search(r"in flight       │ batch 7, .* ago, \S+Z", text)
    code = json.loads(show("--json"))["checked"]["codes"][0]
    assert re.search(rf"worst finding   │ (error|warning|note): {code} \w+", text)


def test_the_confs_are_listed_when_asked_for_and_never_broken(show):
    confs = json.loads(show("--json"))["confs"]
    lines = show("--confs").splitlines()
    assert {f"  {name} = {value}" for name, value in confs.items()} <= set(lines)
    assert not [name for name in confs if name in show()]


@pytest.mark.parametrize("line", [2, 3, 4], ids=["in place of the metadata", "before a source", "at the end"])
def test_an_empty_line_of_an_entry_is_no_source(show, line):
    whole = json.loads(show("--json"))
    entry = show.checkpoint / "offsets/7"
    lines = entry.read_text().splitlines()
    entry.write_text("\n".join([*lines[: line - 1], "", *lines[line - 1 :], *[""] * (line == 4)]))
    (show.checkpoint / "offsets/.7.crc").unlink()
    shown = json.loads(show("--json"))
    kept = ("sources", "confs", "batch_timestamp", "watermark_ms")
    assert {key: shown[key] for key in kept} == {key: whole[key] for key in kept}
    assert "CKPT107" in json.dumps(shown["checked"])


def test_a_type_that_the_log_of_a_source_proves_is_told_and_said_to_be_read(show):
    document = json.loads(show("--json"))
    (file,) = {read["file"] for read in document["types_read"].values()}
    assert document["types_read"]["0"]["source_type"] == "file" and (show.checkpoint / file).is_file()
    assert f"Source 0: its type, file, is read from {file}, not declared." in " ".join(show().split())
    assert json.loads(show("--source", "0=rate", "--json"))["types_read"] == {}
