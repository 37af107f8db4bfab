"""How long a checkpoint is watched before a change, whatever the clocks say; and a location that fills in between."""

from __future__ import annotations

import time

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change import guard
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.guard import MAX_QUIET_S, MIN_QUIET_S, MIN_WATCH_S, watch_s
from airflow_provider_ckpt.change.lock import locked
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.errors import CheckpointBusyError, CheckpointError
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject
from tests.fake_query import FakeQuery, read_all

NOW, S, HOUR = 1_800_000_000_000, 1_000, 3_600_000

WATCHES = {
    "written an hour ago": ([-HOUR], NOW, MIN_WATCH_S),
    "written just now": ([0], NOW, MIN_QUIET_S),
    "a commit every 10 s": ([-20 * S, -10 * S, 0], NOW, 20),
    "a commit every 10 s, the last one 12 s ago": ([-32 * S, -22 * S, -12 * S], NOW, 8),
    "a commit every hour": ([-2 * HOUR, -HOUR, 0], NOW, MAX_QUIET_S),
    "dated an hour ahead": ([HOUR], NOW, MIN_QUIET_S),
    "dated a century ahead, after a commit of today": ([0, 100 * 8766 * HOUR], NOW, MAX_QUIET_S),
    "a storage that tells no time": ([-HOUR], None, MIN_QUIET_S),
    "no dates": ([], NOW, MIN_QUIET_S),
}


@pytest.mark.parametrize(("ages_ms", "now_ms", "seconds"), WATCHES.values(), ids=WATCHES)
def test_how_long_it_is_watched(ages_ms, now_ms, seconds):
    objects = {
        f"commits/{number}": StoredObject(f"commits/{number}", 1, NOW + age, "x") for number, age in enumerate(ages_ms)
    }
    assert watch_s(objects, now_ms) == seconds


def test_the_clock_of_this_machine_has_no_say(tmp_path, monkeypatch):
    """It may be an hour ahead of the storage, whose files would all seem old."""
    checkpoint = Store.open(str(tmp_path / "orders"))
    FakeQuery(checkpoint).commit(0)
    with locked(checkpoint, "p", "ann") as lock:
        monkeypatch.setattr(time, "time_ns", lambda: (NOW + HOUR) * 1_000_000)
        monkeypatch.setattr(time, "time", lambda: (NOW + HOUR) / 1_000)
        assert watch_s(checkpoint.find(), lock.storage_now_ms()) == pytest.approx(MIN_QUIET_S, abs=2)


def test_what_is_waited_for_and_how_long_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(guard, "MIN_QUIET_S", 0.2)
    monkeypatch.setattr(guard, "MIN_WATCH_S", 0.2)  # however long ago the last commit was by then
    checkpoint, told = Store.open(str(tmp_path / "orders")), []
    query = FakeQuery(checkpoint)
    for batch_id in range(3):
        query.commit(batch_id)
    stores = Stores(checkpoint)
    plan = make_rollback(stores, 1)
    apply(plan, stores, query_is_stopped=True, accept_sink="unknown", tell=told.append)
    says = f"Checking for 0.2 s whether a query still writes to {checkpoint.location}"
    why = ": by the times of its commits, one that runs would write within that time. --quiet-period sets another time"
    assert told == [f"{says}{why} (in a DAG quiet_period)."]
    told.clear()
    apply(make_undo(stores), stores, query_is_stopped=True, accept_sink="unknown", quiet_s=0.1, tell=told.append)
    assert told == [f"{says.replace('0.2', '0.1')}."]


@pytest.mark.parametrize(
    ("name", "is_upkeep"),
    [
        ("state/0/0/.3.snapshot.crc", True),
        ("state/0/0/3.snapshot", True),
        ("state/0/0/4.delta", False),
        ("offsets/3", False),
    ],
)
def test_maintenance_of_the_state_store_is_called_so(tmp_path, monkeypatch, name, is_upkeep):
    """Batch 2 is the newest; version 3 is the state after it."""
    query = FakeQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(3):
        query.commit(batch_id)
    stores = Stores(query.store)
    plan = make_rollback(stores, 1)
    monkeypatch.setattr(time, "sleep", lambda _: query.store.write(name, b"other"))
    with pytest.raises(CheckpointBusyError) as refused:
        apply(plan, stores, query_is_stopped=True, accept_sink="unknown", quiet_s=1)
    assert ("maintenance of its state store" in refused.value.message) == is_upkeep
    assert refused.value.hint == (
        "Nothing was done. Stop the query and everything that restarts it, then run the same command again."
    )


@pytest.mark.parametrize("name", ["offsets/99", "state/0/0/9.delta", "notes"])
@pytest.mark.parametrize("at", [0.0, 0.5, 1.0], ids=["at first", "half way", "at last"])
def test_a_location_that_fills_while_a_backup_is_restored(golden, tmp_path, name, at):
    root, target = Store.open(str(tmp_path / "backups")), Store.open(str(tmp_path / "new"))
    backup = take_backup(Store.open(str(golden("file-to-parquet-5"))), root)
    plan = make_restore(root, backup, target)
    when = max(1, int(at * len(plan.actions)))

    def intrude(done: int, total: int, _name: str) -> None:
        if done == when:
            target.create(name, b"of somebody else")

    with pytest.raises(CheckpointBusyError, match="another process wrote") as refused:
        restore(plan, root, target, by="ann", accept_sink="unknown", on_step=intrude)
    assert refused.value.name == name
    assert read_all(target)[name] == b"of somebody else"
    assert [record.state for record in history(target)] == ["planned"]
    with pytest.raises(CheckpointError):
        make_restore(root, backup, target)


@pytest.mark.parametrize("asked_s", [0, 1])
def test_an_undo_waits_for_the_batch_in_flight_that_it_drops(tmp_path, monkeypatch, asked_s):
    """The query still runs it, and would commit a batch whose entry is gone."""
    query = FakeQuery(Store.open(str(tmp_path / "checkpoint")))
    stores = Stores(query.store)
    for batch_id in range(4):
        query.commit(batch_id)
    stopped = {"query_is_stopped": True, "quiet_s": asked_s, "accept_sink": "unknown"}
    apply(make_rollback(stores, 2), stores, **{**stopped, "quiet_s": 0})
    query.plan(3)
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", lambda seconds: waited.append(seconds) or query.commit(3))
    before = read_all(query.store)
    with pytest.raises(CheckpointBusyError, match="a query is running: it wrote to the checkpoint within"):
        apply(make_undo(stores), stores, **stopped)
    assert waited[0] > MIN_WATCH_S and read_all(query.store).items() >= before.items()
    waited.clear()
    monkeypatch.setattr(time, "sleep", waited.append)
    apply(make_undo(stores), stores, **stopped)
    assert waited == [asked_s][asked_s == 0 :], "nothing is in flight: it is as long as was asked"
