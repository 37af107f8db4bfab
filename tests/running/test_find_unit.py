"""An application: a query, or all queries of a group, which have to declare the same."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import CheckpointError, EngineError
from airflow_provider_ckpt.query.query_parser import parse_query_file
from airflow_provider_ckpt.running.find_unit import find_unit
from airflow_provider_ckpt.storage.store import Store

FILE = """
format_version: 1
defaults: {engine: local}
queries:
  orders: {checkpoint: /c/orders, application: {file: orders.py}}
  totals: {checkpoint: /c/totals, application: {file: shop.py}, application_group: shop}
  clicks: {checkpoint: /c/clicks, application: {file: shop.py}, application_group: shop}
"""


def unit(name: str, text: str = FILE):
    return find_unit(parse_query_file(text), name, Store.open)


def test_a_query_is_an_application_and_so_is_a_group():
    assert (unit("orders").name, [each.query.name for each in unit("orders").members]) == ("orders", ["orders"])
    for name in ("totals", "clicks", "shop"):
        assert (unit(name).name, [each.query.name for each in unit(name).members]) == ("shop", ["clicks", "totals"])


@pytest.mark.parametrize(
    ("text", "name", "says"),
    [
        (FILE, "order", "order is no query of ckpt.yaml; did you mean orders"),
        (FILE.replace("defaults: {engine: local}\n", "").replace(", application: {file: orders.py}", ""), "orders", ""),
        (FILE.replace("clicks, application: {file: shop.py}", "clicks, application: {file: b.py}"), "shop", "the same"),
        (
            FILE.replace("application_group: shop", "application_group: orders"),
            "orders",
            "orders is a query and the application group of",
        ),
    ],
)
def test_what_is_no_application_is_told(text, name, says):
    if not says:
        text = "format_version: 1\nqueries: {orders: {checkpoint: /c/orders}}"
    with pytest.raises(CheckpointError, match=says or "orders declares no engine in ckpt.yaml"):
        unit(name, text)
    assert issubclass(EngineError, CheckpointError)
