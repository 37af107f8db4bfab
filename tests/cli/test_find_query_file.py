"""The query file that counts: the named one, else the nearest one; none where that is said."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from airflow_provider_ckpt.cli import find_query_file
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


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir, lambda place: Path(place).symlink_to("/no/such")])
def test_what_has_its_name_and_is_no_file_is_told_and_hides_those_above(nearest, capsys, put):
    put("ckpt.yaml")
    assert find_file(None) is None
    assert f"Warning: {Path.cwd()}/ckpt.yaml is no file that can be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("owner", "mode", "told"),
    [
        (os.geteuid(), 0o100666, "can be changed by every user"),
        (os.geteuid() + 1, 0o100644, f"belongs to another user ({os.geteuid() + 1})"),
    ],
)
def test_one_that_somebody_else_may_have_written_counts_when_it_is_named(
    nearest, capsys, monkeypatch, owner, mode, told
):
    Path(nearest).write_text("format_version: 1\nqueries: {}\n")
    found = SimpleNamespace(stat=lambda: SimpleNamespace(st_uid=owner, st_mode=mode))
    monkeypatch.setattr(find_query_file, "Path", lambda place: found)
    assert FilePlace(nearest, is_named=False).read(is_needed=False) is None
    assert f"{nearest} was found and {told}; name it by --file" in capsys.readouterr().err
    with pytest.raises(click.UsageError, match="name it by --file"):
        FilePlace(nearest, is_named=False).read(is_needed=True)
    assert FilePlace(nearest, is_named=True).read(is_needed=True) is not None


def test_one_of_ones_own_that_others_only_read_is_not(nearest, capsys):
    Path(nearest).chmod(0o644)
    Path(nearest).write_text("format_version: 1\nqueries: {}\n")
    FilePlace(nearest, is_named=False).read(is_needed=False)
    assert "was found" not in capsys.readouterr().err
