"""The storage fails, or the process is killed, anywhere in a backup or a prune: no backup ever misses anything."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup import prune as prune_module
from airflow_provider_ckpt.backup.catalog import find_backup
from airflow_provider_ckpt.backup.make_prune import make_prune
from airflow_provider_ckpt.backup.retention import RetentionPolicy
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.storage.store import Store
from tests.backup_lab import Query, assert_whole, make_older, unnamed
from tests.faults import Fault, FaultyStore, calls_to_fail

EXHAUSTIVE = bool(os.environ.get("CKPT_EXHAUSTIVE"))
#: How many calls fail in turn by default: on local disk, and over HTTP.
SAMPLES, HTTP_SAMPLES = 3, 1
KILLS = 40 if EXHAUSTIVE else 3
LAST = RetentionPolicy(keep_last=1)
LOST_OR_REFUSED = pytest.mark.parametrize("after", [False, True], ids=["refused", "answer lost"])


@pytest.fixture
def query(goldens, tmp_path) -> Query:
    return Query(goldens["4.3.0/agg-rocksdb-changelog-v2"] / "checkpoint", tmp_path / "checkpoint")


def faulty(store: Store, fault: Fault) -> FaultyStore:
    return FaultyStore.of(store, fault)


def back_up(query: Query, root: Store, fault: Fault) -> None:
    take_backup(faulty(query.store, fault), faulty(root, fault), threads=1)


def prune(root: Store, fault: Fault) -> None:
    place = faulty(root, fault)
    prune_module.prune(make_prune(place, LAST, grace_ms=0 if fault.at is None else 3_600_000), place, threads=1)


def fail_at_every_call_of_a_backup(query: Query, root_of: object, after: bool, samples: int = SAMPLES) -> None:
    """An increment fails at each call in turn; the next one is whole, and refers to nothing that is not there."""
    counted = Fault()
    reference = root_of("reference")
    query.back_up(reference, 3)
    query.commit_up_to(4)
    back_up(query, reference, counted)
    assert counted.calls > 30
    for at in calls_to_fail(counted.calls, samples):
        root = root_of(f"round-{at}")
        query.back_up(root, 3)
        query.commit_up_to(4)
        with pytest.raises(CheckpointError, match="injected"):
            back_up(query, root, Fault(at, after=after))
        assert_whole(root)
        time.sleep(0.002)
        taken = query.back_up(root)
        assert taken.batch_id == 4 and taken in assert_whole(root), f"call {at}"
        assert taken.reused_bytes > 0


def fail_at_every_call_of_a_prune(query: Query, root_of: object, after: bool, samples: int = SAMPLES) -> None:
    """A prune fails at each call in turn; what is left is whole at once, and the next prune leaves what one would."""

    def three_backups(name: str) -> Store:
        root = root_of(name)
        for batch in (3, 4, 5):
            query.back_up(root, batch)
        return root

    counted = Fault()
    prune(three_backups("reference"), counted)
    for at in calls_to_fail(counted.calls, samples):
        root = three_backups(f"round-{at}")
        newest = find_backup(root, "latest")
        try:
            prune(root, Fault(at, after=after))
        except CheckpointError as error:
            assert "injected" in str(error)
        assert newest in assert_whole(root), f"call {at}"
        prune(root, Fault())
        assert assert_whole(root) == (newest,)
        referred = {item.stored_at.partition("/")[0] for item in newest.objects}
        assert {name.partition("/")[0] for name in root.find()} == referred
        assert {name.rpartition("/")[2] for name in unnamed(root)} <= {"dropped.json"}, f"call {at}"


@LOST_OR_REFUSED
def test_a_backup_survives_a_fault_at_every_call(query, tmp_path, after):
    fail_at_every_call_of_a_backup(query, lambda name: Store.open(str(tmp_path / name)), after)


@LOST_OR_REFUSED
def test_a_prune_survives_a_fault_at_every_call(query, tmp_path, after):
    fail_at_every_call_of_a_prune(query, lambda name: Store.open(str(tmp_path / name)), after)


@pytest.mark.s3
@LOST_OR_REFUSED
def test_a_backup_to_s3_survives_a_fault_at_every_call(query, s3_store, after):
    fail_at_every_call_of_a_backup(query, s3_store, after, HTTP_SAMPLES)


@pytest.mark.exhaustive
@pytest.mark.s3
@LOST_OR_REFUSED
def test_a_prune_on_s3_survives_a_fault_at_every_call(query, s3_store, after):
    fail_at_every_call_of_a_prune(query, s3_store, after, HTTP_SAMPLES)


def killed_after(command: list[str], seconds: float) -> bool:
    """Start the real command and kill it; whether it was still running."""
    ckpt = str(Path(sys.executable).with_name("ckpt"))
    process = subprocess.Popen([ckpt, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True
    return False


def seconds_of(command: list[str]) -> float:
    started = time.perf_counter()
    assert not killed_after(command, 120)
    return time.perf_counter() - started


def test_a_process_that_is_killed_leaves_whole_backups(query, tmp_path):
    """SIGKILL at random moments of the real command, aimed at the part in which it works."""
    whole = tmp_path / "whole"
    query.back_up(Store.open(str(whole)), 3)
    query.commit_up_to(4)
    back_up_command = ["backup", str(query.checkpoint), "--to"]
    prune_command = ["--keep-last", "1", "--grace", "1h", "--execute"]
    longest = seconds_of([*back_up_command, str(tmp_path / "timed")])
    killed = 0
    for number in count():
        root = Store.open(str(shutil.copytree(whole, tmp_path / f"round-{number}")))
        killed += killed_after([*back_up_command, root.location], random.uniform(0.4, 1) * longest)
        assert_whole(root)
        newest = query.back_up(root)
        assert newest in assert_whole(root)
        killed += killed_after(["prune", root.location, *prune_command], random.uniform(0.4, 1) * longest)
        assert newest in assert_whole(root)
        make_older(Path(root.location), days=1)
        prune(root, Fault())
        assert assert_whole(root) == (newest,)
        assert {name.rpartition("/")[2] for name in unnamed(root)} <= {"dropped.json"}
        if number + 1 >= KILLS and killed:
            break
        assert number < 10 * KILLS, "no kill came in time"
