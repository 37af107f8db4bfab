"""Every change is judged by the checkpoint that it leaves, before anything is done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.judge_start import judge_start, view_after
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.fence.make import make_fence
from airflow_provider_ckpt.changes.fence.put_fence import put_fence
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.changes.seed.make import given_positions, make_seed
from airflow_provider_ckpt.changes.sources.make import make_source_change
from airflow_provider_ckpt.changes.sources.source_change import parse_change
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.storage.store import Store

STOPPED: dict[str, Any] = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "unknown"}


def roll_back(stores: Stores) -> Plan:
    return make_rollback(stores, 2)


def undo(stores: Stores) -> Plan:
    apply(make_rollback(stores, 2), stores, **STOPPED)
    return make_undo(stores)


def swap_sources(stores: Stores) -> Plan:
    return make_source_change(stores, parse_change(["0=1", "1=0"], []))


CHANGES: dict[str, tuple[str, Callable[[Stores], Plan]]] = {
    "rollback": ("agg-rocksdb", roll_back),
    "undo": ("agg-rocksdb", undo),
    "sources": ("two-sources", swap_sources),
    "fence": ("two-sources", make_fence),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_judged_is_what_the_change_leaves(golden, change):
    name, make = CHANGES[change]
    stores = Stores(Store.open(str(golden(name))))
    plan, view = make(stores), observe(stores.checkpoint, deep=True)
    sources = {"undo": lambda copy: (stores.record(plan.undoes).child("saved"), copy.source)}
    own = sources.get(plan.kind, lambda copy: (stores.checkpoint, copy.source))
    after = view_after(plan, view, stores.checkpoint, own)
    if plan.kind == "fence":
        put_fence(stores)
    else:
        apply(plan, stores, **STOPPED)
    found = observe(stores.checkpoint, deep=True)
    assert after.objects.keys() == found.objects.keys()
    assert {name: entry.encode() for name, entry in after.entries.items()}.items() >= {
        name: entry.encode() for name, entry in found.entries.items()
    }.items()
    assert (after.damaged, after.missing) == ({}, ())


@pytest.mark.parametrize(("change", "lost"), [("sources", "offsets/{before}"), ("fence", "metadata")])
def test_what_stops_spark_before_a_change_is_said_by_it(golden, change, lost):
    name, make = CHANGES[change]
    checkpoint: Path = golden(name)
    newest = max(int(path.name) for path in (checkpoint / "offsets").iterdir() if path.name.isdigit())
    lost = lost.format(before=newest - 1)
    (checkpoint / lost).unlink()
    (told,) = (text for text in make(Stores(Store.open(str(checkpoint)))).warnings if "Spark does not start" in text)
    assert "before the " in told and lost in told


def test_a_change_of_a_sound_checkpoint_has_nothing_to_say(golden):
    stores = Stores(Store.open(str(golden("agg-rocksdb"))))
    plan = make_rollback(stores, 2)
    assert judge_start(plan, observe(stores.checkpoint, deep=True), stores.checkpoint) == plan


def test_what_is_written_to_a_new_location_is_judged_as_well(tmp_path):
    plan = make_seed(Store.open(str(tmp_path / "new")), given_positions({"0": '{"orders":{"0":5}}'}), {"0": "kafka"})
    assert not [text for text in plan.warnings if "Spark does not start from" in text]
