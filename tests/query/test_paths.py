"""Locations that a cluster spells in another way than ckpt opens them."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.query.paths import Paths

PATHS = Paths(
    {
        "dbfs:/mnt/lake": "abfss://lake@acc.dfs.core.windows.net",
        "dbfs:/mnt/lake/raw/": "s3://raw/",
        "/Volumes/main/db": "s3://volumes/db",
        "wasbs://c@acc.blob.core.windows.net": "abfss://c@acc.dfs.core.windows.net",
    }
)


@pytest.mark.parametrize(
    ("spelled", "opened"),
    [
        ("dbfs:/mnt/lake/c/orders", "abfss://lake@acc.dfs.core.windows.net/c/orders"),
        ("dbfs:/mnt/lake", "abfss://lake@acc.dfs.core.windows.net"),
        ("dbfs:/mnt/lake/raw/a", "s3://raw/a"),
        ("dbfs:/mnt/lakes/a", "dbfs:/mnt/lakes/a"),
        ("/Volumes/main/db/vol/c", "s3://volumes/db/vol/c"),
        ("wasbs://c@acc.blob.core.windows.net/x", "abfss://c@acc.dfs.core.windows.net/x"),
        ("s3://other/a", "s3://other/a"),
    ],
)
def test_the_longest_beginning_of_whole_parts_counts_and_the_way_back_is_the_same(spelled, opened):
    assert PATHS.opened(spelled) == opened
    assert PATHS.spelled(opened) == spelled


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("s3a://lake/a/", "s3://lake/a"),
        ("file:///data/c", "/data/c/"),
        ("file:/data/c", "/data/c"),
        ("/data//x/../c/.", "/data/c"),
        ("./c", "c/"),
        ("FILE:///data/./c", "//data/c"),
        ("abfs://c@a.dfs.core.windows.net/x", "abfss://c@a.dfs.core.windows.net/x"),
        ("/Volumes/main/db/vol", "s3a://volumes/db/vol"),
    ],
)
def test_two_locations_of_one_place_are_equal(one, other):
    assert PATHS.place(one) == PATHS.place(other)


@pytest.mark.parametrize("spelled", ["dbfs:///mnt/lake/a", "/dbfs/mnt/lake/a"])
def test_dbfs_is_spelled_in_three_ways(spelled):
    assert PATHS.opened(spelled) == "abfss://lake@acc.dfs.core.windows.net/a"
    assert PATHS.opened("/dbfs/mnt/other") == "/dbfs/mnt/other"


@pytest.mark.parametrize("before", ["", "delta:", "0=file:"])
def test_a_location_in_a_declaration_is_opened(before):
    assert PATHS.opened_in(f"{before}dbfs:/mnt/lake/raw/a") == f"{before}s3://raw/a"
    assert PATHS.opened_in(f"{before}s3://other/a") == f"{before}s3://other/a"


def test_other_places_are_other():
    assert PATHS.place("s3://lake/a") != PATHS.place("s3://lake/ab")
    assert PATHS.place("/") == "/"
