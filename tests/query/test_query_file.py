"""The queries of a file are found by name and by location, and each declaration says where it is."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.query.query_parser import parse_query_file
from tests.query.query_files import WHOLE


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("orders", "orders"),
        ("s3a://lake/checkpoints/orders/", "orders"),
        ("dbfs:/mnt/lake/c/totals", "totals"),
        ("abfss://lake@account.dfs.core.windows.net/c/totals", "totals"),
        ("clicks", None),
    ],
)
def test_a_query_is_found_by_its_name_and_by_its_location(text, name):
    found = parse_query_file(WHOLE).find(text)
    assert (found.name if found else None) == name


def test_each_declaration_says_where_it_stands():
    file = parse_query_file(WHOLE, "etc/ckpt.yaml")
    orders = file.queries["orders"]
    assert file.origin(orders, "sink") == "etc/ckpt.yaml line 14"
    assert file.origin(orders, "backups") == "etc/ckpt.yaml line 3"
    assert file.origin(orders, "engine") is None
