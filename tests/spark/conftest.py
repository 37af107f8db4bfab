"""What several tests with Spark share, and which of them `make test` leaves out."""

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
collect_ignore = (
    []
    if os.environ.get("CKPT_SINKS")
    else [
        "test_delta_export.py",
        "test_delta_reset.py",
        "test_delta_stops.py",
        "test_iceberg_reset.py",
        "test_sinks.py",
    ]
)


@pytest.fixture(scope="session")
def bad_deploy(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Path], Lab]:
    """A query with a bad deploy below a directory, by its kind of state: it ran once, and each test has a copy."""

    @cache
    def deployed(config: str) -> Lab:
        return lab_with_a_bad_deploy(spark, tmp_path_factory.mktemp("deployed"), config)

    return lambda config, root: deployed(config).copied(root)


@pytest.fixture(scope="module")
def sink_session(spark: Any) -> Any:
    """A session that knows the sink, and the one with faults."""
    from airflow_provider_ckpt.spark import make_known
    from airflow_provider_ckpt.spark.sink import CheckpointHistory
    from tests.spark.history_faults import FaultyHistory

    session = spark.newSession()
    for source in (CheckpointHistory, FaultyHistory):
        make_known(session, source)
    return session


@pytest.fixture
def sink_lab(sink_session: Any, tmp_path: Any) -> Any:
    """A stream of one file of two rows a batch."""
    from tests.spark.sink_lab import FILES

    lab = Lab(sink_session, tmp_path, "stateless")
    lab.write(range(FILES))
    return lab
