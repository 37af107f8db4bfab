"""A process that an interrupted change has left is waited for, whatever the next change is."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.change.require_alone import PROCESSES, require_alone
from airflow_provider_ckpt.changes.repartition.make import make_repartition
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.engines.find_processes import life_of, this_machine
from airflow_provider_ckpt.errors import CheckpointBusyError
from airflow_provider_ckpt.storage.store import Store


@pytest.fixture
def stores(golden):
    """A checkpoint whose repartition was interrupted."""
    stores = Stores(Store.open(str(golden("agg-rocksdb"))))
    plan = make_repartition(stores, 5)
    record = stores.record(plan.plan_id)
    journal.begin(record, plan, by="", at_ms=1, from_batch=7, number=1)
    journal.write_saved(record, 0, {})
    return stores


def note(stores, content):
    (change,) = journal.history(stores.checkpoint)
    stores.record(change.plan.plan_id).write(
        PROCESSES, content if isinstance(content, bytes) else json.dumps(content).encode()
    )


@pytest.fixture
def process():
    """One that goes on until it is told to end."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    if process.poll() is None:
        process.communicate(b"\n")


def test_no_change_begins_before_its_end(stores, process, monkeypatch):
    monkeypatch.setattr("airflow_provider_ckpt.change.apply.require_alone", lambda stores: require_alone(stores, 0))
    note(stores, {"machine": this_machine(), "processes": [[process.pid, life_of(process.pid)]]})
    rollback = make_rollback(stores, 5)
    for plan in (make_repartition(stores, 5), rollback):
        with pytest.raises(CheckpointBusyError, match=f"process {process.pid}"):
            apply(plan, stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    process.communicate(b"\n")
    require_alone(stores, 0)


@pytest.mark.parametrize(
    "noted",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"machine": "m", "processes": 1}',
        {"machine": "another", "processes": [[1, life_of(1)]]},
        {"machine": this_machine(), "processes": [[1, "another life"]]},
        {"machine": this_machine(), "processes": [["x", "y"]]},
    ],
    ids=str,
)
def test_what_tells_of_no_process_here_is_passed_over(stores, noted):
    note(stores, noted)
    require_alone(stores, 0)
