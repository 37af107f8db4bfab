"""The clock of this machine."""

from __future__ import annotations

import time

from airflow_provider_ckpt.clock import now_ms


def test_a_millisecond_that_has_begun_does_not_count(monkeypatch):
    monkeypatch.setattr(time, "time_ns", lambda: 1_767_225_640_999_999)
    assert now_ms() == 1_767_225_640
