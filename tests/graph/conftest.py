"""The fleet of thirty queries, as real Spark has written it (tests/graph/run.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from .fleet_archive import unpack


@pytest.fixture(scope="session")
def thirty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of it."""
    return unpack(tmp_path_factory.mktemp("thirty"))


@pytest.fixture(scope="session")
def thirty_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Without the tables, which need clients of their own."""
    root = unpack(tmp_path_factory.mktemp("thirty-files"), without=("warehouse/",))
    for log in [*root.glob("lake/*/_delta_log")]:
        for path in log.iterdir():
            path.unlink()
        log.rmdir()
    return root
