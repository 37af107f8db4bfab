"""A query file beside checkpoints, for ``ckpt queries``."""

from __future__ import annotations

import pytest


@pytest.fixture
def declared(golden, tmp_path, monkeypatch):
    """Writes a query file into the directory in which commands run; ``checkpoint`` is one of real Spark."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CKPT_FILE", raising=False)

    def declare(text: str, before: str = "") -> None:
        (tmp_path / "ckpt.yaml").write_text(f"format_version: 1\n{before}queries:\n{text}\n")

    declare.checkpoint = golden("agg-hdfs")
    declare.root = tmp_path
    return declare
