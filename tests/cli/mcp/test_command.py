"""The command that starts the server for assistants: what it needs, and what it refuses."""

from __future__ import annotations

import sys

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.cli.mcp import server


def test_without_the_sdk_a_sentence_says_what_to_install(monkeypatch, capsys):
    for module in ("airflow_provider_ckpt.cli.mcp.server", "mcp.server.mcpserver"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert run(["mcp", "--root", "/data"]) == 3
    assert "spark-ckpt[mcp]" in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--root", "relative"], [], ["--root", "/data", "--storage-option", "nothing"]])
def test_a_wrong_command_line_is_a_usage_error(options, capsys):
    assert run(["mcp", *options]) == 2
    assert capsys.readouterr().err


@pytest.mark.parametrize("how", ["option", "environment", "found"])
def test_the_query_file_is_the_named_one_and_never_one_that_is_found(monkeypatch, tmp_path, how):
    served = []
    monkeypatch.setattr(server, "serve", lambda *given: served.append(given[-1]))
    (tmp_path / "ckpt.yaml").write_text("format_version: 1\nqueries: {a: {checkpoint: /c}}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CKPT_FILE", "ckpt.yaml" if how == "environment" else "")
    words = ["--file", "ckpt.yaml"] if how == "option" else []
    assert run(["mcp", "--root", "/data", *words]) == 0
    assert [file and list(file.queries) for file in served] == [None if how == "found" else ["a"]]
    (tmp_path / "ckpt.yaml").write_text("format_version: 2")
    assert run(["mcp", "--root", "/data", *words]) == (0 if how == "found" else 2)
