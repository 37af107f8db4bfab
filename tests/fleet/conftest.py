"""What the tests of fleets have in common."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fleets import make_fleet

CASE = "4.3.0/agg-hdfs"


@pytest.fixture
def fleet(goldens, tmp_path) -> Callable[..., Path]:
    """Makes a root with checkpoints at some locations."""

    def make(*locations: str) -> Path:
        root = tmp_path / "root"
        root.mkdir(exist_ok=True)
        make_fleet(goldens[CASE] / "checkpoint", root, locations)
        return root

    return make
