"""What the first listing of a directory shows: whether it is a checkpoint, and how much state it has."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.listing import DirectoryListing, count_operators, list_checkpoint
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject


@pytest.mark.parametrize(
    ("files", "directories", "expected"),
    {
        "whole": ("metadata", "offsets commits state", True),
        "without its query id": ("", "offsets", True),
        "its logs are lost": ("metadata", "state", True),
        "a query that has planned nothing yet": ("metadata", "", False),
        "a table": ("part-0.parquet", "_delta_log", False),
        "nothing": ("", "", False),
    }.values(),
)
def test_the_top_shows_whether_it_is_a_checkpoint(files, directories, expected):
    objects = {name: StoredObject(name, 1, 0, "") for name in files.split()}
    assert DirectoryListing(0, objects, frozenset(directories.split())).is_checkpoint == expected


@pytest.mark.parametrize(("case", "operators"), [("agg-hdfs", 1), ("file-to-parquet-5", 0)])
def test_the_state_shows_how_many_operators_there_are(goldens, case, operators):
    store = Store.open(str(goldens[f"4.3.0/{case}"] / "checkpoint"))
    assert count_operators(store) == operators
    assert list_checkpoint(store).directories >= {"offsets", "commits"}
