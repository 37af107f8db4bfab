"""The query file that counts: the named one, else the nearest one; none where that is said."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from airflow_provider_ckpt.cli.find_query_file import FilePlace, file_of, find_file


@pytest.fixture
def nearest(tmp_path, monkeypatch):
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "ckpt.yaml").write_text("format_version: 1")
    monkeypatch.chdir(tmp_path / "a/b")
    monkeypatch.delenv("CKPT_FILE", raising=False)
    return str(tmp_path / "ckpt.yaml")


def test_the_option_wins_over_the_environment_and_that_over_the_nearest(nearest, monkeypatch):
    assert find_file(None) == FilePlace(nearest, is_named=False)
    monkeypatch.setenv("CKPT_FILE", "s3://lake/ckpt.yaml")
    assert find_file(None) == FilePlace("s3://lake/ckpt.yaml", is_named=True)
    assert find_file("other.yaml") == FilePlace("other.yaml", is_named=True)
    assert find_file("none") is None


def test_the_option_is_taken_out_of_the_words(nearest):
    assert file_of(["a", "--file", "f", "-b"]) == (FilePlace("f", is_named=True), ["a", "-b"])
    assert file_of(["--file=none", "a"]) == (None, ["a"])


@pytest.mark.parametrize("words", [["--file"], ["--file="], ["--file", "a", "--file", "b"]])
def test_an_option_without_a_value_or_given_twice_is_a_wrong_use(words):
    with pytest.raises(click.UsageError, match="--file"):
        file_of(words)


def test_a_broken_one_is_told_and_left_out_unless_it_is_needed(nearest, capsys):
    Path(nearest).write_text("format_version: 2")
    assert FilePlace(nearest, is_named=False).read(is_needed=False) is None
    assert f"Warning: {nearest} line 1, format_version: it is 2" in capsys.readouterr().err
    for place in (FilePlace(nearest, is_named=True), FilePlace("/no/such", is_named=True)):
        with pytest.raises(click.UsageError):
            place.read(is_needed=False)
    with pytest.raises(click.UsageError):
        FilePlace(nearest, is_named=False).read(is_needed=True)
