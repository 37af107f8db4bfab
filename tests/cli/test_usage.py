"""Usage errors (exit code 2): what is said on stderr, and the document on stdout that ``--json`` asks for."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.documents import ErrorDocument
from tests.json_documents import problems

USAGE = {
    "a file that is not there": (("gate", "C", "--conf-file", "/no/such/file"), "/no/such/file"),
    "no batch to roll back to": (("rollback", "C"), "--to-batch, --to-timestamp, --to-watermark, --to-offsets, --to-backup"),
    "two of them": (("rollback", "C", "--to-batch", "1", "--to-timestamp", "0"), "exactly one of --to-batch"),
    "batches in the wrong order": (("diff", "C", "7", "3"), "batch 7 is after batch 3"),
    "nothing to carry out": (("history", "C", "--execute"), "--execute carries out --forget"),
    "an approval of nothing": (("undo", "C", "--approved-by", "eve"), "--approved-by is recorded when"),
    "no such option": (("show", "C", "--deep"), "--deep"),
    "an option before the command": (("--storage-option", "a=b", "show", "C"), "the command: ckpt show … --storage-option"),
    "no such command": (("shew", "C"), "shew"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "said"), USAGE.values(), ids=USAGE)
def test_a_usage_error_is_text_on_stderr_and_a_document_with_json(capsys, arguments, said):
    assert run(arguments) == 2
    text = capsys.readouterr()
    assert said in " ".join(text.err.split()) and not text.out
    assert run([*arguments, "--json"]) == 2
    both = capsys.readouterr()
    document = json.loads(both.out)
    assert both.err == text.err and said in document["error"]["message"] and document["error"]["code"] == "USAGE"
    assert not list(problems(document, ErrorDocument))


def test_json_before_the_command_is_told_where_it_belongs(capsys):
    assert run(["--json", "salvage", "C"]) == 2
    said = json.loads(capsys.readouterr().out)["error"]["message"]
    assert said == "--json is an option of the commands, so it comes after the command: ckpt salvage … --json"


def test_what_show_cannot_read_names_the_next_command(capsys, golden, tmp_path):
    damaged = golden("file-to-parquet-12")
    (damaged / "offsets/11").write_bytes(b"v1")
    assert run(["show", str(damaged)]) == 3
    assert f"ckpt check --deep {damaged}" in capsys.readouterr().err


@pytest.mark.parametrize("command", [("show",), ("check",), ("backup", "--to", "ROOT")], ids=lambda command: command[0])
def test_what_reads_a_lost_checkpoint_names_the_restore(capsys, tmp_path, command):
    """A backup of it cannot be taken any more: what helps is one that was taken before."""
    name, *options = (str(tmp_path / "root") if item == "ROOT" else item for item in command)
    assert run([name, str(tmp_path / "lost"), *options]) == 3
    assert f"ckpt restore ROOT latest --to {tmp_path / 'lost'}" in capsys.readouterr().err
