"""Names of locations that are not opened here, and what to write instead."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.storage.opening import other_name, require_location


@pytest.mark.parametrize(
    ("location", "instead"),
    [
        ("dbfs:/ck", "/dbfs/"),
        ("dbfs://ck", "/dbfs/"),
        ("wasbs://c@a.blob.core.windows.net/ck", "abfss://"),
        ("viewfs://x/ck", "hdfs://"),
        ("s3n://lake/ck", "s3://"),
        ("s3a://lake/ck", None),
        ("abfss://c@a.dfs.core.windows.net/ck", None),
        ("file:/data/ck", None),
        ("/Volumes/a/b/ck", None),
    ],
)
def test_another_name_is_given_for_what_is_not_opened(location, instead):
    said = other_name(location)
    assert said is None if instead is None else said is not None and instead in said


@pytest.mark.parametrize(
    "location",
    ["None", " none ", "nan", "NULL", "s3://lake/None", "None/orders", "s3://None/orders"],
)
def test_what_is_made_of_no_value_is_no_location(location):
    with pytest.raises(StoreError, match="a value that is not there"):
        require_location(location)


@pytest.mark.parametrize(
    "location",
    ["s3://lake/none-of-these", "/data/Nonesuch", "s3://lake/day=null/ck", "/data/{id}", "/data/{{ 7 * 7 }}"],
)
def test_a_name_that_only_contains_such_a_word_is_one(location):
    require_location(location)
