"""The options that say what a query reads from, in every command that has them."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.cli import run
from tests.kafka_checkpoint import commit_batch


@pytest.fixture
def ckpt(tmp_path, capsys):
    """A command for a query of a directory with one unread file, and a file that says so under `checkpoints`."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/x").write_bytes(b"12345")
    commit_batch(tmp_path / "q", 0, '{"logOffset":-1}')
    (tmp_path / "fleet.yaml").write_text(f"sources: [rate]\ncheckpoints: {{q: {{sources: ['file:{tmp_path}/in']}}}}")

    def call(command: str, *options: str) -> tuple[int, dict, str]:
        code = run([command, str(tmp_path / "q"), *options, "--json"])
        said = capsys.readouterr()
        return code, json.loads(said.out or "{}"), said.err

    return call


@pytest.mark.parametrize("name", ["--conf-file", "--sources-file"])
def test_every_command_reads_the_same_file(ckpt, tmp_path, name):
    """By the name that is documented, and by the former one."""
    file = (name, str(tmp_path / "fleet.yaml"))
    assert [source["total"] for source in ckpt("lag", *file)[1]["sources"]] == [1]
    assert [source["total"] for source in ckpt("show", *file)[1]["lag"]] == [1]
    assert [source["total"] for source in ckpt("fleet", *file)[1]["checkpoints"][0]["lag"]] == [1]
    code, document, _ = ckpt("wait", "--caught-up", *file, "--timeout", "0")
    assert (code, document["reached"]) == (1, False)
    assert "sources" not in ckpt("gate", *file)[1]["unknown"]


def test_the_command_line_wins_over_the_file(ckpt, tmp_path):
    file = ("--conf-file", str(tmp_path / "fleet.yaml"))
    (source,) = ckpt("lag", *file, "--source", "0=rate")[1]["sources"]
    assert (source["source_type"], source["total"]) == ("rate", None)


@pytest.mark.parametrize("command", ["lag", "show", "wait", "fleet"])
def test_a_file_that_makes_no_sense_is_a_usage_error(ckpt, tmp_path, command):
    (tmp_path / "fleet.yaml").write_text("checkpoints: {q: {source: [rate]}}")
    code, _, err = ckpt(command, "--conf-file", str(tmp_path / "fleet.yaml"))
    assert code == 2
    assert "checkpoints has 'q': unknown key 'source'" in err
