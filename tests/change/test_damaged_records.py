"""Records and locks that somebody has damaged: one sentence, no traceback, and never a wrong undo."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.lock import LOCK, locked
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.find_records import records_of
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.errors import CheckpointBusyError, CheckpointError
from airflow_provider_ckpt.storage.store import Store
from tests.change.plans import STOPPED
from tests.fake_query import FakeQuery, after_rollback, read_all

BATCHES, KEEP = 5, 2


def missing(path: Path) -> None:
    path.unlink()


def replaced(path: Path, data: bytes) -> None:
    """By another file: what is saved on the same disk is a second name of a file of the checkpoint."""
    path.unlink()
    path.write_bytes(data)


def empty(path: Path) -> None:
    replaced(path, b"")


def cut(path: Path) -> None:
    replaced(path, path.read_bytes()[: path.stat().st_size // 2])


def a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def foreign(path: Path) -> None:
    replaced(path, b'{"by": 7, "at_ms": "x", "from_batch": [], "files": {"checkpoint/offsets/3": 1}, "objects": -1}')


def other_bytes(path: Path) -> None:
    replaced(path, bytes(byte ^ 1 for byte in path.read_bytes()))


def nested(path: Path) -> None:
    replaced(path, b"[" * 100_000)


DAMAGES = [missing, empty, cut, a_directory, foreign, other_bytes, nested]
FILES = ["plan.json", "begun.json", "saved.json", "receipt.json", "saved/checkpoint/offsets/3", "saved"]


class _StoppedError(Exception):
    pass


@pytest.fixture
def query(tmp_path) -> FakeQuery:
    query = FakeQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(BATCHES):
        query.commit(batch_id)
    return query


@pytest.mark.parametrize("interrupted", [False, True], ids=["applied", "interrupted"])
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("file", FILES)
def test_a_damaged_record(query, file, damage, interrupted):
    def stop(done: int, total: int, name: str) -> None:
        if interrupted and done == 5:
            raise _StoppedError

    stores = Stores(query.store)
    plan = make_rollback(stores, KEEP)
    with suppress(_StoppedError):
        apply(plan, stores, on_step=stop, **STOPPED)
    left = read_all(query.store)
    path = Path(stores.record(plan.plan_id).location) / file
    if not path.exists():
        return  # an interrupted change has no receipt
    shutil.rmtree(path) if path.is_dir() else damage(path)

    typed(lambda: history(query.store))
    typed(lambda: apply(make_undo(stores), stores, **STOPPED))
    assert read_all(query.store) in (left, query.files), "undone, or nothing was done"
    if read_all(query.store) == left:
        typed(lambda: apply(make_rollback(stores, KEEP), stores, **STOPPED))
        assert read_all(query.store) in (left, after_rollback(query.files, KEEP))


def typed(act: Callable[[], object]) -> None:
    try:
        act()
    except CheckpointError as error:
        assert "\n" not in str(error)
        assert error.location
        assert error.hint, error


def test_an_older_change_does_not_pass_for_the_newest_whose_record_is_damaged(query):
    stores = Stores(query.store)
    for target in (3, 1):
        plan = make_rollback(stores, target)
        apply(plan, stores, **STOPPED)
    left = read_all(query.store)
    stores.record(plan.plan_id).delete("plan.json")
    with pytest.raises(CheckpointError, match="plan.json: the record of a change is missing"):
        make_undo(stores)
    assert read_all(query.store) == left


def test_the_history_names_a_damaged_record_and_lists_the_others(query, capsys):
    stores, plans = Stores(query.store), []
    for target in (3, 1):
        plans.append(make_rollback(stores, target))
        apply(plans[-1], stores, **STOPPED)
    stores.record(plans[0].plan_id).write("plan.json", b"{")
    assert run(["history", query.store.location, "--json"]) == 0
    said = capsys.readouterr()
    shown = json.loads(said.out)
    assert [change["plan_id"] for change in shown["changes"]] == [plans[1].plan_id]
    assert [record["plan_id"] for record in shown["unreadable"]] == [plans[0].plan_id]
    assert f"{plans[0].plan_id}/plan.json" in said.err


def test_a_saved_object_of_the_same_size_with_other_bytes_is_not_put_back(query):
    stores = Stores(query.store)
    plan = make_rollback(stores, KEEP)
    apply(plan, stores, **STOPPED)
    left = read_all(query.store)
    other_bytes(Path(stores.record(plan.plan_id).location) / "saved/checkpoint/state/0/1/4.delta")
    with pytest.raises(
        CheckpointError,
        match=r"state/0/1/4.delta: the change cannot be undone, because a saved file is not what was saved.*Nothing was done",
    ):
        apply(make_undo(stores), stores, **STOPPED)
    assert read_all(query.store) == left


# --- locks ----------------------------------------------------------------------------------------------------------

HERE = {"token": "t0", "by": "ann", "plan_id": "p", "machine": "m", "pid": 1, "life": "1", "since_ms": 0}
LOCKS = {
    "empty": b"",
    "no JSON": b"\x00\xff?",
    "a list": b"[]",
    "other fields": b'{"owner": "x"}',
    "a pid that is text": json.dumps({**HERE, "pid": "1; rm"}).encode(),
    "a pid that no system has": json.dumps({**HERE, "pid": 1 << 40}).encode(),
    "a time that no calendar has": json.dumps({**HERE, "since_ms": (1 << 63) - 1}).encode(),
    "a time that is text": json.dumps({**HERE, "since_ms": "now"}).encode(),
    "a token that climbs": json.dumps({**HERE, "token": "../../x"}).encode(),
    "nested": b"[" * 100_000,
    "huge": b'{"by": "' + b"x" * 5_000_000 + b'"}',
}


@pytest.mark.parametrize("left", LOCKS.values(), ids=LOCKS)
def test_a_lock_that_says_nothing_needs_a_word(query, left):
    records_of(query.store).write(LOCK, left)
    with pytest.raises(CheckpointBusyError, match="--break-lock") as refused, locked(query.store, "p1", "ann@host"):
        pass
    assert len(str(refused.value)) < 500
    with locked(query.store, "p1", "ann@host", break_lock=True):
        pass
    assert records_of(query.store).find() == {}


def test_a_directory_in_the_place_of_the_lock(query):
    place = Path(records_of(query.store).location) / LOCK
    place.mkdir(parents=True)
    with (
        pytest.raises(CheckpointError, match="Delete it when no change and no prune"),
        locked(query.store, "p1", "ann", break_lock=True),
    ):
        pass
