"""One operator at a time."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from airflow_provider_ckpt.change import lock
from airflow_provider_ckpt.change.lock import LOCK, Holder, locked
from airflow_provider_ckpt.checkpoint.find_records import records_of
from airflow_provider_ckpt.engines.find_processes import life_of, this_machine
from airflow_provider_ckpt.errors import CheckpointBusyError, CheckpointLockedError, PlanError, StoreError
from airflow_provider_ckpt.storage.store import Store
from tests.faults import Fault, FaultyStore
from tests.permissions import without_rights

HOLD_AND_WAIT = """
import sys, time
from airflow_provider_ckpt.change.lock import locked
from airflow_provider_ckpt.storage.store import Store
with locked(Store.open(sys.argv[1]), "p1", "ann@host"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.s3), "memory"])
def checkpoint(request, tmp_path, monkeypatch) -> Store:
    if request.param == "s3":
        return request.getfixturevalue("s3_store")("lake/orders")
    if request.param == "memory":
        monkeypatch.setattr(lock, "SETTLE_S", 0.05)
        return Store.open(f"memory://{tmp_path.name}/orders")
    return Store.open(str(tmp_path / "orders"))


def left_by(checkpoint: Store, **fields: object) -> None:
    """A lock that somebody has left, here with a process id that no process has."""
    here = {"machine": this_machine(), "pid": 2**22 + 1, "life": "1", "since_ms": 0}
    holder = Holder(**{"token": "t0", "by": "ann@host", "plan_id": "p1", **here, **fields})
    records_of(checkpoint).write(LOCK, holder.encode())


def test_the_second_operator_is_told_who_the_first_one_is(checkpoint):
    with (
        locked(checkpoint, "p1", "ann@host"),
        pytest.raises(CheckpointBusyError, match=f"ann@host \\(process {os.getpid()}, plan p1") as refused,
        locked(checkpoint, "p2", "bob@host"),
    ):
        pass
    assert "--break-lock" in str(refused.value)
    with locked(checkpoint, "p2", "bob@host"):
        pass
    assert records_of(checkpoint).find() == {}, "a lock leaves nothing"


def test_a_change_that_fails_leaves_no_lock(checkpoint):
    with pytest.raises(RuntimeError), locked(checkpoint, "p1", "ann@host"):
        raise RuntimeError
    assert records_of(checkpoint).find() == {}


@pytest.mark.sweep
def test_of_many_at_once_one_gets_it(checkpoint):
    """Also when all of them find the same stale lock."""
    for _ in range(4):
        left_by(checkpoint)
        start, inside, most = threading.Barrier(6), [], []

        def act(number: int, start=start, inside=inside, most=most) -> bool:
            start.wait()
            try:
                with locked(checkpoint, f"p{number}", ""):
                    inside.append(number)
                    most.append(len(inside))
                    threading.Event().wait(0.02)
                    inside.remove(number)
            except CheckpointBusyError:
                return False
            return True

        with ThreadPoolExecutor(6) as pool:
            got = list(pool.map(act, range(6)))
        assert any(got) and max(most) == 1


class BetweenReads(Fault):
    """Before the second look at a lock, something else happens."""

    def __init__(self, then) -> None:
        super().__init__()
        self.then = then

    def hits(self, call: str, store: Store) -> bool:
        if call == "read_up_to":
            super().hits(call, store)
            if self.calls == 2:
                self.then()
        return False


def test_a_chain_that_is_released_while_it_is_read_is_not_prolonged(tmp_path):
    """Between two looks of one operator at a stale lock another one takes it over and ends, and a third one begins."""
    checkpoint = Store.open(str(tmp_path / "orders"))
    left_by(checkpoint)
    third = locked(checkpoint, "p3", "eve")

    def meanwhile() -> None:
        with locked(checkpoint, "p2", "bob"):
            pass
        third.__enter__()

    late = locked(FaultyStore.of(checkpoint, BetweenReads(meanwhile)), "p1", "ann")
    with pytest.raises(CheckpointBusyError, match="eve"), late:
        pass
    third.__exit__(None, None, None)
    assert records_of(checkpoint).find() == {}, "no lock is left"


def test_the_lock_of_a_killed_process_is_stale(tmp_path):
    checkpoint = Store.open(str(tmp_path / "orders"))
    process = subprocess.Popen([sys.executable, "-c", HOLD_AND_WAIT, checkpoint.location], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"held\n"
    with pytest.raises(CheckpointBusyError), locked(checkpoint, "p1", "ann@host"):
        pass
    process.kill()
    process.wait()
    process.stdout.close()
    with locked(checkpoint, "p2", "bob"):
        pass


@pytest.mark.parametrize(
    ("left", "by", "plan_id", "free"),
    {
        "dead, this machine": ({}, "bob", "p2", True),
        "alive, but started later than the lock": ({"pid": os.getpid(), "life": "1"}, "bob", "p2", True),
        "another machine": ({"machine": "elsewhere"}, "bob", "p1", False),
        "another machine, the same task and plan": (
            {"machine": "elsewhere", "by": "dag/run/t"},
            "dag/run/t",
            "p1",
            True,
        ),
        "another machine, the same task, another plan": (
            {"machine": "elsewhere", "by": "dag/run/t"},
            "dag/run/t",
            "p2",
            False,
        ),
        "another machine, nobody says who": ({"machine": "elsewhere", "by": ""}, "", "p1", False),
        "alive, the same task and plan": (
            {"pid": os.getppid(), "life": life_of(os.getppid())},
            "ann@host",
            "p1",
            False,
        ),
    }.values(),
)
def test_when_a_lock_is_stale(tmp_path, left, by, plan_id, free):
    checkpoint = Store.open(str(tmp_path / "orders"))
    left_by(checkpoint, **left)
    if free:
        with locked(checkpoint, plan_id, by):
            assert len(records_of(checkpoint).find()) == 2, "the stale one stays until the end"
        assert records_of(checkpoint).find() == {}
    else:
        with pytest.raises(CheckpointBusyError), locked(checkpoint, plan_id, by):
            pass
        assert json.loads(records_of(checkpoint).read(LOCK))["token"] == "t0"


@pytest.mark.parametrize(("begun", "again"), [("records", None), (None, "records")])
def test_a_killed_change_with_its_record_elsewhere_is_not_passed_over(tmp_path, begun, again):
    """A second change would not know of it, and its undo would give back a checkpoint that was half changed."""
    checkpoint = Store.open(str(tmp_path / "orders"))
    roots = {"records": Store.open(str(tmp_path / "records")), None: None}
    left_by(checkpoint, records=roots[begun].location if begun else "")
    with (
        pytest.raises(CheckpointLockedError, match="ann@host began the change p1") as refused,
        locked(checkpoint, "p2", "bob@host", undo=roots[again]),
    ):
        pass
    assert (f"--undo-to {tmp_path}/records" if begun else "without --undo-to") in str(refused.value)
    with locked(checkpoint, "p1", "ann@host", undo=roots[begun]):
        pass
    left_by(checkpoint, records=roots[begun].location if begun else "")
    with locked(checkpoint, "p2", "bob@host", undo=roots[again], break_lock=True):
        pass


def test_a_person_can_break_a_lock_and_its_late_holder_does_no_harm(tmp_path):
    """The late holder ends while the one who broke its lock works, and again when a third one does."""
    checkpoint = Store.open(str(tmp_path / "orders"))
    late, later = locked(checkpoint, "p1", "ann"), locked(checkpoint, "p2", "bob", break_lock=True)
    late.__enter__()
    later.__enter__()
    late.__exit__(None, None, None)
    with pytest.raises(CheckpointBusyError, match="bob"), locked(checkpoint, "p3", "eve"):
        pass
    later.__exit__(None, None, None)
    assert records_of(checkpoint).find() == {}

    late = locked(checkpoint, "p1", "ann")
    late.__enter__()
    with locked(checkpoint, "p2", "bob", break_lock=True):
        pass
    with locked(checkpoint, "p3", "eve"):
        late.__exit__(None, None, None)
        with pytest.raises(CheckpointBusyError, match="eve"), locked(checkpoint, "p4", "kim"):
            pass


def test_a_lock_that_nobody_can_read_needs_a_word(tmp_path):
    checkpoint = Store.open(str(tmp_path / "orders"))
    records_of(checkpoint).write(LOCK, b"?")
    with pytest.raises(CheckpointBusyError, match="somebody"), locked(checkpoint, "p1", "ann"):
        pass
    with locked(checkpoint, "p1", "ann", break_lock=True):
        pass


def test_processes_on_one_machine_exclude_one_another(tmp_path):
    """Each adds one to a number in a file, not atomically."""
    checkpoint = Store.open(str(tmp_path / "orders"))
    counter = tmp_path / "counter"
    counter.write_text("0")
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_count, args=(checkpoint.location, counter)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert counter.read_text() == "30"


def _count(location: str, counter) -> None:
    done = 0
    while done < 10:
        try:
            with locked(Store.open(location), "p", f"process {os.getpid()}"):
                counter.write_text(str(int(counter.read_text()) + 1))
                done += 1
        except CheckpointBusyError:
            pass


def test_a_lock_behind_a_link_to_nowhere_is_not_taken_for_that_of_another(tmp_path):
    checkpoint = Store.open(str(tmp_path / "orders"))
    link = tmp_path / "_ckpt_undo"
    link.symlink_to(tmp_path / "gone")
    with (
        pytest.raises(PlanError, match="is a symbolic link that leads nowhere") as refused,
        locked(checkpoint, "p1", ""),
    ):
        pass
    assert str(link) in str(refused.value) and "--break-lock" not in str(refused.value)


def test_where_the_lock_cannot_be_written_the_error_says_why_it_is_there():
    """Records may go elsewhere, and the lock may not. Nobody else may see into the directories that pytest makes."""
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as records:
        checkpoint = Store.open(f"{home}/orders")
        Path(home).chmod(0o555)
        taking = locked(checkpoint, "p1", "", undo=Store.open(records))
        try:
            with without_rights(), pytest.raises(StoreError, match="permission denied") as refused, taking:
                pass
        finally:
            Path(home).chmod(0o700)
    said = str(refused.value)
    assert f"The lock is written to {home}/_ckpt_undo/orders, beside the checkpoint also where --undo-to" in said
    assert "let this user write there" in said
