"""What ``ckpt show`` prints for people: plain words, and no more than fits a screen."""

from __future__ import annotations

import json
import os

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
    assert "newest committed batch │ 7" in text and "once-only confs        │ 17; --confs lists them" in text
    assert len(text.splitlines()) < 24


def test_it_says_how_long_ago_the_last_commit_was(show):
    commit = show.checkpoint / "commits" / "7"
    os.utime(commit, (commit.stat().st_atime, 1_000_000_000))
    assert json.loads(show("--json"))["last_commit"] == "2001-09-09T01:46:40.000Z"
    assert "committed at           │ 2001-09-09T01:46:40.000Z, " in show() and " ago" in show()


def test_the_confs_are_listed_when_asked_for_and_never_broken(show):
    confs = json.loads(show("--json"))["confs"]
    lines = show("--confs").splitlines()
    assert {f"  {name} = {value}" for name, value in confs.items()} <= set(lines)
    assert not [name for name in confs if name in show()]
