"""The flows of pipelines are queries; a pipeline that cannot be read is a row."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import CheckpointNotFoundError
from airflow_provider_ckpt.fleet.queries.read_flows import read_flows
from airflow_provider_ckpt.query.query_parser import parse_query_file
from airflow_provider_ckpt.storage.store import Store


@pytest.fixture
def file(tmp_path):
    """A query, a pipeline with two flows, and one whose specification is gone."""
    (tmp_path / "pipe.yml").write_text(f"name: shop\nstorage: {tmp_path}/storage\nlibraries: []\n")
    for flow in ("bronze", "silver"):
        (tmp_path / "storage/_checkpoints/c/d" / flow / flow / "0/offsets").mkdir(parents=True)
    return parse_query_file(
        "format_version: 1\nqueries: {orders: {checkpoint: x}}\n"
        "pipelines: {shop: {spec: pipe.yml}, lost: {spec: nowhere.yml}}",
        f"{tmp_path}/ckpt.yaml",
    )


@pytest.mark.parametrize(
    ("names", "found", "failures", "unknown"),
    [
        ((), ["orders", "shop.bronze", "shop.silver"], ["lost"], []),
        (("orders",), ["orders"], [], []),
        (("shop",), ["shop.bronze", "shop.silver"], [], []),
        (("shop.silver", "orders"), ["orders", "shop.silver"], [], []),
        (("lost", "orders"), ["orders"], ["lost"], []),
        (("lost.gold",), [], ["lost"], []),
        (("shop.gold", "ordres"), [], [], ["shop.gold", "ordres"]),
    ],
)
def test_names(file, names, found, failures, unknown):
    wanted = read_flows(file, names, Store.open)
    assert list(wanted.names) == found and list(wanted.unknown) == unknown
    assert [row.name for row in wanted.failures] == failures
    assert all(isinstance(row.failure, CheckpointNotFoundError) for row in wanted.failures)


def test_a_specification_that_is_none_is_said(file, tmp_path):
    (tmp_path / "nowhere.yml").write_text("[a]")
    (row,) = read_flows(file, ("lost",), Store.open).failures
    assert f"{tmp_path}/nowhere.yml" in str(row.failure) and row.exit_code == 3
