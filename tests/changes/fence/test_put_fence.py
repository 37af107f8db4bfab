"""A fence beside a writer: at whatever call the writer goes on, dies or the fence is killed, no batch is skipped."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.fence import put_fence as module
from airflow_provider_ckpt.checkpoint.find_records import records_of
from airflow_provider_ckpt.codec.offset_log import CLOSING
from airflow_provider_ckpt.errors import (
    CheckpointBusyError,
    CheckpointError,
    CheckpointNotFoundError,
    PlanError,
    StoreUnavailableError,
)
from airflow_provider_ckpt.storage.store import Store
from tests.changes.fence.writer import BATCHES, STOPPED, Kill, Writer, assert_starts_right, fence, in_a_process, newest
from tests.fake_query import FakeQuery, read_all
from tests.faults import Fault, calls_to_fail


class Meanwhile(Fault):
    """Before some calls of the fence, the writer does something."""

    def __init__(self, steps: dict[int, Callable[[], None]]) -> None:
        super().__init__()
        self.steps = steps

    def hits(self, call: str, store: Store) -> bool:
        self.calls += 1
        self.steps.get(self.calls, lambda: None)()
        return False


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.s3)])
def opened(request, tmp_path) -> Callable[[str], Store]:
    """Opens locations."""
    if request.param == "s3":
        return request.getfixturevalue("s3_store")
    return lambda name: Store.open(str(tmp_path / name))


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    monkeypatch.setattr(module, "POLL_S", 0.0)


def logs_of(store: Store) -> dict[str, bytes]:
    return {name: data for name, data in read_all(store).items() if name.startswith(("offsets/", "commits/"))}


def state_of(store: Store) -> str:
    return journal.history(store)[-1].state


def test_a_fence_has_the_offsets_of_the_newest_batch_and_the_watermark_of_its_commit(opened):
    store = opened("orders")
    Writer(store, in_flight=False)
    plan, receipt = fence(store)
    assert (plan.batch_id, receipt.status, receipt.actions) == (BATCHES - 1, "applied", 1)
    entry = store.read(f"offsets/{BATCHES}")
    before = store.read(f"offsets/{BATCHES - 1}")
    assert entry.split(b"\n")[2:] == before.split(b"\n")[2:]
    coming = store.read(f"commits/{BATCHES - 1}").partition(b'Ms":')[2].rstrip(b"}").strip()
    assert b'"batchWatermarkMs":' + coming in entry.replace(b" ", b"")


def test_the_writer_stops_at_its_next_batch_and_the_same_fence_is_found_again(opened):
    store = opened("orders")
    writer = Writer(store, in_flight=False)
    fence(store)
    fenced = read_all(store)
    writer.go_on()
    assert writer.stopped
    plan, receipt = fence(store)
    assert (receipt.status, receipt.actions, plan.batch_id) == ("already_applied", 0, BATCHES - 1)
    assert read_all(store) == fenced
    assert [change.state for change in journal.history(store)] == ["applied"]


def test_behind_a_batch_in_flight_the_checkpoint_is_closed_until_its_commit(opened):
    store = opened("orders")
    writer = Writer(store, in_flight=True)
    seen: list[bytes] = []

    def commit_when_closed() -> None:
        if newest(store, "offsets") > BATCHES and not writer.stopped:
            seen.append(store.read(f"offsets/{BATCHES + 1}"))
            writer.go_on()
            writer.go_on()

    plan, _ = fence(store, Meanwhile(dict.fromkeys(range(1, 200), commit_when_closed)), wait_s=60)
    assert seen == [CLOSING] * len(seen) and seen and writer.stopped
    assert (plan.batch_id, writer.committed) == (BATCHES, BATCHES)
    assert store.read(f"offsets/{BATCHES + 1}").split(b"\n")[2:] == store.read(f"offsets/{BATCHES}").split(b"\n")[2:]
    assert [change.state for change in journal.history(store)] == ["undone", "applied"]


def test_without_that_commit_the_fence_is_withdrawn_and_says_what_is_in_flight(opened):
    store = opened("orders")
    Writer(store, in_flight=True)
    before = read_all(store)
    with pytest.raises(CheckpointBusyError, match=f"batch {BATCHES} is in flight since 20..-.*within 0 s") as told:
        fence(store)
    assert "start the query, which runs the batch again" in (told.value.hint or "")
    assert read_all(store) == before
    assert state_of(store) == "undone"


def test_a_batch_that_is_committed_at_the_last_moment_is_fenced(opened):
    store = opened("orders")
    writer = Writer(store, in_flight=True)

    class CommitsWhileWithdrawn(Fault):
        def hits(self, call: str, place: Store) -> bool:
            if call == "delete_if":
                writer.go_on()
            return False

    plan, _ = fence(store, CommitsWhileWithdrawn())
    assert (plan.batch_id, newest(store, "commits")) == (BATCHES, BATCHES)
    writer.go_on()
    assert writer.stopped


@pytest.mark.parametrize("error", [KeyboardInterrupt, StoreUnavailableError("no answer")], ids=["Ctrl-C", "storage"])
def test_when_the_wait_fails_the_checkpoint_is_opened_again(opened, error):
    store = opened("orders")
    Writer(store, in_flight=True)
    before = read_all(store)

    class Fails(Fault):
        def hits_object(self, call: str, place: Store, name: str) -> bool:
            if call == "stat" and name == f"commits/{BATCHES}":
                raise error
            return False

    with pytest.raises((KeyboardInterrupt, StoreUnavailableError)):
        fence(store, Fails(), wait_s=60)
    assert read_all(store) == before
    assert state_of(store) == "undone"


def test_a_checkpoint_that_vanishes_meanwhile_is_said_to_be_gone(tmp_path):
    store = Store.open(str(tmp_path / "orders"))
    Writer(store, in_flight=True)

    class Vanishes(Fault):
        def hits_object(self, call: str, place: Store, name: str) -> bool:
            if (call, name) == ("stat", f"commits/{BATCHES}"):
                shutil.rmtree(store.root, ignore_errors=True)
            return False

    with pytest.raises(CheckpointNotFoundError, match="was removed while its commit was waited for") as told:
        fence(store, Vanishes())
    assert (told.value.name, told.value.batch_id) == (f"offsets/{BATCHES}", BATCHES)


@pytest.mark.parametrize("left", [b"", b'v1\n{"next'], ids=["empty", "cut"])
def test_a_commit_that_cannot_be_read_opens_the_checkpoint_again(tmp_path, left):
    store = Store.open(str(tmp_path / "orders"))
    Writer(store, in_flight=True)

    class Damages(Fault):
        def hits_object(self, call: str, place: Store, name: str) -> bool:
            if (call, name) == ("stat", f"commits/{BATCHES}"):
                store.write(name, left)
            return False

    with pytest.raises(CheckpointError):
        fence(store, Damages(), wait_s=60)
    assert f"offsets/{BATCHES + 1}" not in store.ls("offsets")[0]
    assert state_of(store) == "undone"


def test_a_storage_that_fails_for_good_leaves_it_closed_and_says_so(tmp_path):
    store = Store.open(str(tmp_path / "orders"))
    Writer(store, in_flight=True)

    class Fails(Fault):
        def hits_object(self, call: str, place: Store, name: str) -> bool:
            if (call, name) in (("stat", f"commits/{BATCHES}"), ("delete_if", f"offsets/{BATCHES + 1}")):
                raise StoreUnavailableError("no answer", location=store.location)
            return False

    with pytest.raises(StoreUnavailableError) as told:
        fence(store, Fails(), wait_s=60)
    assert "closes the checkpoint" in (told.value.hint or "") and "ckpt undo" in (told.value.hint or "")
    assert store.read(f"offsets/{BATCHES + 1}") == CLOSING
    store.create(f"commits/{BATCHES}", b'v1\n{"nextBatchWatermarkMs":0}')
    assert fence(store)[0].batch_id == BATCHES


def test_a_writer_that_is_faster_at_every_try_is_said_to_be(opened, monkeypatch):
    monkeypatch.setattr(module, "TRIES", 3)
    store = opened("orders")
    writer = Writer(store, in_flight=False)

    class Faster(Fault):
        def hits_object(self, call: str, place: Store, name: str) -> bool:
            if call == "create" and name.startswith("offsets/"):
                writer.go_on()
                writer.go_on()
            return False

    with pytest.raises(CheckpointBusyError, match="faster at each of 3 tries"):
        fence(store, Faster())
    assert {change.state for change in journal.history(store)} == {"refused"}
    assert newest(store, "offsets") == newest(store, "commits") == BATCHES + 2


@pytest.mark.parametrize("in_flight", [False, True], ids=["idle", "in flight"])
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_writer_that_goes_on_at_any_call_is_stopped_and_no_batch_is_skipped(tmp_path, in_flight, steps):
    counted = Fault()
    place = Store.open(str(tmp_path / "counted" / "orders"))
    Writer(place, in_flight=in_flight)
    with suppress(CheckpointBusyError):
        fence(place, counted)
    for at in calls_to_fail(counted.calls, 30):
        place = Store.open(str(tmp_path / f"call-{at}" / "orders"))
        writer = Writer(place, in_flight=in_flight)

        def act(writer: Writer = writer, place: Store = place) -> None:
            for _ in range(steps):
                writer.go_on()
                assert_starts_right(place)

        try:
            plan, _ = fence(place, Meanwhile({at: act}))
        except CheckpointBusyError as error:
            assert "is in flight" in error.message, at
            assert newest(place, "offsets") == writer.planned, at
        else:
            own = f"offsets/{plan.batch_id + 1}"
            assert newest(place, "commits") == plan.batch_id == writer.committed, at
            data = place.read(own)
            writer.go_on()
            assert writer.stopped and place.read(own) == data, at
        assert_starts_right(place)
        assert records_of(place).ls()[0] == {}, "the lock is released"


def killed(tmp_path, *, in_flight: bool, samples: int) -> Iterator[tuple[int, Store, Writer]]:
    """Checkpoints beside whose writer a fence was killed: at each call of one that finds the batch committed."""
    for at in calls_to_fail(90 if in_flight else 50, samples):
        place = Store.open(str(tmp_path / f"call-{at}" / "orders"))
        writer = Writer(place, in_flight=in_flight)

        class Killed(Kill):
            def hits_object(self, call: str, store: Store, name: str, writer=writer, in_flight=in_flight) -> bool:
                if in_flight and call == "stat" and name == f"commits/{BATCHES}":
                    writer.go_on()
                return self.hits(call, store)

        in_a_process(lambda place=place, at=at, kind=Killed: fence(place, kind(at), wait_s=60))
        yield at, place, writer


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("in_flight", [False, True], ids=["idle", "in flight"])
def test_killed_at_any_call_spark_starts_right_and_the_same_command_completes_it(tmp_path, in_flight):
    for at, place, _ in killed(tmp_path, in_flight=in_flight, samples=12):
        assert_starts_right(place)
        writer = Writer.__new__(Writer)  # what the child's writer has done is on the disk
        writer.store, writer.query, writer.stopped = place, FakeQuery.__new__(FakeQuery), False
        if newest(place, "commits") < BATCHES and in_flight:
            place.create(f"commits/{BATCHES}", b'v1\n{"nextBatchWatermarkMs":0}')
        plan, _ = fence(place)
        assert place.read(f"offsets/{plan.batch_id + 1}") == plan.actions[0].data.encode(), at
        assert newest(place, "commits") == plan.batch_id == (BATCHES if in_flight else BATCHES - 1), at
        assert_starts_right(place)
        assert state_of(place) == "applied", at


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("in_flight", [False, True], ids=["idle", "in flight"])
def test_killed_at_any_call_an_undo_takes_it_back(tmp_path, in_flight):
    for at, place, _ in killed(tmp_path, in_flight=in_flight, samples=8):
        added = {name for name, data in logs_of(place).items() if is_of_a_fence(place, name)}
        try:
            plan = make_undo(Stores(place))
        except PlanError:
            assert not added, at
        else:
            apply(plan, Stores(place), **STOPPED, break_lock=True)
        assert not added & logs_of(place).keys(), at
        assert_starts_right(place)


def is_of_a_fence(place: Store, name: str) -> bool:
    plans = [change.plan for change in journal.history(place) if change.plan.kind == "fence"]
    return any(plan.actions[0].name == name for plan in plans) and name not in FakeQuery(place).files


def test_an_undo_of_a_fence_that_a_query_has_passed_has_no_steps(opened):
    store = opened("orders")
    writer = Writer(store, in_flight=False)
    fence(store)
    writer.query.files[f"offsets/{BATCHES}"] = store.read(f"offsets/{BATCHES}")
    writer.query.commit(BATCHES)
    writer.query.commit(BATCHES + 1)
    before = read_all(store)
    plan = make_undo(Stores(store))
    assert plan.actions == ()
    apply(plan, Stores(store), **STOPPED)
    assert read_all(store) == before
    assert journal.history(store)[0].state == "undone"


@pytest.mark.parametrize("after", [False, True], ids=["refused", "answer lost"])
def test_a_fault_at_any_call_leaves_what_spark_starts_from(opened, after):
    counted = Fault()
    place = opened("counted/orders")
    Writer(place, in_flight=False)
    fence(place, counted)
    for at in calls_to_fail(counted.calls, 6):
        place = opened(f"round-{at}/orders")
        Writer(place, in_flight=False)
        with suppress(CheckpointError):
            fence(place, Fault(at, after=after))
        assert_starts_right(place)
        plan, _ = fence(place)
        assert place.read(f"offsets/{BATCHES}") == plan.actions[0].data.encode(), at
        assert newest(place, "offsets") == BATCHES, at


@pytest.mark.parametrize("in_flight", [False, True])
def test_a_hold_closes_the_checkpoint_until_it_is_taken_back(opened, in_flight):
    store = opened("orders")
    writer = Writer(store, in_flight=in_flight)
    stores = Stores(store)
    plan, receipt = module.put_fence(stores, by="ann", settle_s=0.0, hold=True)
    assert (store.read(f"offsets/{writer.planned + 1}"), receipt.status) == (CLOSING, "applied")
    assert module.put_fence(stores, by="ann", settle_s=0.0, hold=True)[1].status == "already_applied"
    with pytest.raises(PlanError, match="this checkpoint is held by"):
        fence(store)
    writer.go_on()
    writer.go_on()
    assert writer.stopped
    apply(make_undo(stores, undoes=plan.plan_id), stores, **STOPPED)
    assert newest(store, "offsets") == writer.planned
    assert_starts_right(store)


def test_a_hold_comes_behind_a_fence_that_is_there(opened):
    store = opened("orders")
    Writer(store, in_flight=False)
    fence(store)
    module.put_fence(Stores(store), by="ann", settle_s=0.0, hold=True)
    assert store.read(f"offsets/{BATCHES + 1}") == CLOSING
