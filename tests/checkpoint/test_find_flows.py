"""Versions of flows, on pipelines that real Spark has run: which runs, and what is done with the others."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.fence.put_fence import put_fence
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.fleet.find import find_checkpoints
from airflow_provider_ckpt.storage.store import Store
from tests.pipelines.shop import BELOW, ckpt, severities


def test_the_directory_of_a_flow_means_the_version_that_runs(shop, capsys):
    bronze = shop("refreshed") / BELOW / "bronze" / "bronze"
    _, shown = ckpt(capsys, "show", bronze)
    assert shown["location"] == f"{bronze}/1"
    _, gated = ckpt(capsys, "gate", bronze / "0")
    assert (gated["decision"], severities(gated)["CKPT206"]) == ("block", "error")
    _, checked = ckpt(capsys, "check", bronze / "0")
    assert severities(checked) == {"CKPT156": "note"}


def test_a_replaced_version_is_found_and_refused_by_name(shop):
    root = shop("refreshed")
    found = {item.location: getattr(item, "replaced_by", None) for item in find_checkpoints([Store.open(str(root))])}
    bronze = f"{root}/{BELOW}/bronze/bronze"
    assert len(found) == 4 and found[f"{bronze}/0"] == f"{bronze}/1"
    stores = Stores(Store.open(f"{bronze}/0"), Store.open(f"{root}/spark-warehouse/bronze"))
    with pytest.raises(PlanError, match="version 0 of flow bronze of .*, which version 1 has replaced"):
        make_rollback(stores, 1)
    with pytest.raises(PlanError, match="which version 1 has replaced"):
        put_fence(stores)
