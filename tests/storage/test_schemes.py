"""Schemes that mean the same storage, in every place that compares or names locations."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.lineage.datasets import place
from airflow_provider_ckpt.storage.roots import normalised, parse_roots
from airflow_provider_ckpt.storage.schemes import storage_scheme

SAME = [("s3", "s3a"), ("s3a", "S3N"), ("gs", "gcs"), ("abfss", "abfs"), ("wasbs", "wasb")]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_both_mean_the_same_storage(one, other):
    assert storage_scheme(one) == storage_scheme(other)
    assert normalised(f"{one}://lake/orders") == normalised(f"{other}://lake/orders")
    assert place(f"{one}://lake/orders") == place(f"{other}://lake/orders")
    assert parse_roots(f"{one}://lake").hold(f"{other}://lake/orders")


@pytest.mark.parametrize("scheme", ["s3", "gs", "abfss", "wasbs", "file", "hdfs", "dbfs"])
def test_the_name_of_a_storage_stays(scheme):
    assert storage_scheme(scheme) == storage_scheme(scheme.upper()) == scheme


def test_pages_and_lineage_name_a_location_alike():
    """The location of a page begins with the namespace of the dataset."""
    for location in ("s3a://lake/orders", "abfs://c@account.dfs.core.windows.net/orders", "gcs://lake/orders"):
        assert normalised(location).startswith(place(location)[0])
