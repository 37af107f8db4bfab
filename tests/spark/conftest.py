"""A query that several tests roll back, and which tests with Spark `make test` leaves out."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.spark.bad_deploy import lab_with_a_bad_deploy
from tests.spark_lab import Lab

# It needs jars of 130 MB and Sparks of other versions: make sinks.
collect_ignore = [] if os.environ.get("CKPT_SINKS") else ["test_sinks.py"]


@pytest.fixture(scope="session")
def bad_deploy(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Path], Lab]:
    """A query with a bad deploy below a directory, by its kind of state: it ran once, and each test has a copy."""

    @cache
    def deployed(config: str) -> Lab:
        return lab_with_a_bad_deploy(spark, tmp_path_factory.mktemp("deployed"), config)

    return lambda config, root: deployed(config).copied(root)
