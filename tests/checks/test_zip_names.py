"""CKPT130 names the file that a state store really had: its zip, where it never wrote a changelog."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.storage.store import Store


@pytest.mark.parametrize(
    ("golden_name", "lost", "said"),
    [
        ("agg-rocksdb", "state/0/0/8.zip", "state/0/0/8.zip (or 8.changelog with an older zip) is missing"),
        ("agg-rocksdb-changelog", "state/0/0/8.changelog", "state/0/0/8.changelog is missing"),
    ],
)
def test_the_file_that_was_lost_is_named(golden, golden_name, lost, said):
    checkpoint = golden(golden_name)
    (checkpoint / lost).unlink()
    texts = [
        finding.message for finding in inspect(Store.open(str(checkpoint)), deep=True) if finding.code == "CKPT130"
    ]
    assert any(text.startswith(said) for text in texts), texts
