"""Epochs of several schemas are one table, unless a column has two types."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.history_table.schema import merged_schema
from tests.history_table.labs import struct


def test_columns_come_in_the_order_in_which_they_came():
    merged = merged_schema([struct(a="long", b="string"), struct(c="long", a="long")], "s3://lake/history")
    assert [field["name"] for field in merged["fields"]] == ["a", "b", "c"]
    assert all(field["nullable"] for field in merged["fields"])


def test_a_column_of_two_types_is_refused_by_name():
    with pytest.raises(StoreError, match=r"s3://lake/history: the column 'a' has the type \"long\" in some epochs and"):
        merged_schema([struct(a="long"), struct(a="string")], "s3://lake/history")
