"""The command that starts the server for assistants: what it needs, and what it refuses."""

from __future__ import annotations

import sys

import pytest

from airflow_provider_ckpt.cli import run


def test_without_the_sdk_a_sentence_says_what_to_install(monkeypatch, capsys):
    for module in ("airflow_provider_ckpt.cli.mcp_server", "mcp.server.mcpserver"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert run(["mcp", "--root", "/data"]) == 3
    assert "spark-ckpt[mcp]" in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--root", "relative"], [], ["--root", "/data", "--storage-option", "nothing"]])
def test_a_wrong_command_line_is_a_usage_error(options, capsys):
    assert run(["mcp", *options]) == 2
    assert capsys.readouterr().err
