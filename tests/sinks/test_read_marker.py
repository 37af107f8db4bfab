"""A sink is asked what it remembers by the module of its format."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.sinks.read_marker import read_marker
from tests.sinks.conftest import marker


def test_a_sink_that_remembers_nothing_needs_no_storage():
    assert marker("kafka:orders", "q", 1).commits == ()


def test_a_sink_that_remembers_has_to_be_opened():
    with pytest.raises(StoreError, match="not given to open"):
        read_marker(Sink("delta", "/t"), None, "q", 1)
