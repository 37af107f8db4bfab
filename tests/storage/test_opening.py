"""Names of locations that are not opened here, and what to write instead."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.storage.opening import other_name


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
