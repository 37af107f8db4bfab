"""A writer that has found the name of its entry free, sleeps, and renames its own entry to it at whatever call.

Nothing keeps such a writer from that rename, on a disk; it has planned its batch by it. So its entry must stand: what a
fence, its withdrawal or its undo takes away is their own entry and no other one, also when it is killed in between.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.codec.offset_log import CLOSING
from airflow_provider_ckpt.errors import CheckpointError, PlanError
from airflow_provider_ckpt.storage import remove_if as removal
from airflow_provider_ckpt.storage.store import Store
from tests.changes.fence.writer import BATCHES, STOPPED, Kill, Writer, assert_starts_right, fence, in_a_process, newest
from tests.faults import Fault, FaultyStore, calls_to_fail

RENAME = os.rename
#: What a removal asks the system for.
SYSTEM = ("rename", "unlink", "link", "look")
#: Of the batch after the one in flight.
NEXT = f"offsets/{BATCHES + 1}"


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    monkeypatch.setattr("airflow_provider_ckpt.changes.fence.put_fence.POLL_S", 0.0)


class Moments(Fault):
    """Calls something before each call of the store, and before each call of the system inside of a removal."""

    def __init__(self, act: Callable[[int, str, str], None]) -> None:
        super().__init__()
        self.act = act

    def hits_object(self, call: str, store: Store, name: str) -> bool:
        self.calls += 1
        self.act(self.calls, call, name)
        return False

    @contextmanager
    def watching(self):
        """While this lasts, the calls of the system count as well."""
        with pytest.MonkeyPatch.context() as patched:
            for name in SYSTEM[:-1]:
                patched.setattr(removal.os, name, self._watched(name, getattr(os, name)))
            patched.setattr(removal, "stat", self._watched("look", removal.stat))
            yield

    def _watched(self, name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            self.hits_object(name, None, "")  # type: ignore[arg-type]
            return real(*arguments, **options)

        return call


class Sleeper:
    """It has seen that a name is free; when it wakes up it renames its own entry to it, whatever is there by then."""

    def __init__(self, store: Store, name: str) -> None:
        self.path, self.name = Path(store.root) / name, name
        self.entry = store.read(f"offsets/{BATCHES - 1}").replace(b'"offset": ', b'"offset": 7')
        self.is_awake = False

    def wake(self) -> None:
        temporary = self.path.with_name(f".{self.path.name}.0452ff5f-46d2-4629-a6b1-575712dad25a.tmp")
        temporary.write_bytes(self.entry)
        RENAME(temporary, self.path)
        self.is_awake = True

    def assert_stands(self, store: Store, at: object) -> None:
        assert not self.is_awake or store.read(self.name) == self.entry, at


def asides(store: Store) -> list[str]:
    return removal.asides_in(f"{store.root}/offsets")


def exchanged(store: Store, writer: Writer, act: Callable[[int, str, str], None]) -> int:
    """Fence behind a batch in flight that is committed when it is looked for; how many calls that made."""

    def moment(number: int, call: str, name: str) -> None:
        if (call, name) == ("stat", f"commits/{BATCHES}"):
            writer.go_on()
        act(number, call, name)

    return _fenced(store, Moments(moment))


def withdrawn(store: Store, writer: Writer, act: Callable[[int, str, str], None]) -> int:
    """Fence behind a batch in flight that is not committed in time."""
    return _fenced(store, Moments(act))


def _fenced(store: Store, moments: Moments) -> int:
    with moments.watching(), suppress(CheckpointError):
        fence(store, moments)
    return moments.calls


def undone(store: Store, writer: Writer, act: Callable[[int, str, str], None]) -> int:
    """Take back what has closed the checkpoint."""
    moments = Moments(act)
    with moments.watching(), suppress(CheckpointError):
        stores = Stores(FaultyStore.of(store, moments))
        apply(make_undo(stores), stores, **STOPPED, break_lock=True)
    return moments.calls


def prepared(root: Path, act: Callable[..., int]) -> tuple[Store, Writer]:
    """A checkpoint with a batch in flight; for an undo it is closed by a fence that was killed while it waited."""
    store = Store.open(str(root / "orders"))
    writer = Writer(store, in_flight=True)
    if act is undone:

        class KilledWaiting(Kill):
            def hits_object(self, call: str, store: Store, name: str) -> bool:
                if (call, name) == ("stat", f"commits/{BATCHES}"):
                    os._exit(9)
                return False

        in_a_process(lambda: fence(store, KilledWaiting(), wait_s=60))
        assert store.read(NEXT) == CLOSING
    return store, writer


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("act", [exchanged, withdrawn, undone], ids=lambda act: act.__name__)
def test_the_entry_of_a_writer_that_wakes_up_at_any_call_stands(tmp_path, act):
    seen: list[str] = []
    act(*prepared(tmp_path / "counted", act), lambda number, call, name: seen.append(call))
    inside = [at for at, call in enumerate(seen, 1) if call in (*SYSTEM, "delete_if")]
    woken, tried = 0, sorted({*inside, *calls_to_fail(len(seen), 8)})
    for at in tried:
        store, writer = prepared(tmp_path / f"call-{at}", act)
        sleeper = Sleeper(store, NEXT)

        def wake(number: int, *_: object, at=at, sleeper=sleeper, writer=writer) -> None:
            if number == at:
                if act is exchanged and writer.committed < BATCHES:  # it has looked after its commit
                    writer.go_on()
                sleeper.wake()

        act(store, writer, wake)
        sleeper.assert_stands(store, at)
        assert asides(store) == [], at
        woken += sleeper.is_awake
        if act is exchanged:
            assert_starts_right(store)
    assert woken == len(tried)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("act", [exchanged, withdrawn, undone], ids=lambda act: act.__name__)
@pytest.mark.parametrize("again", ["fence", "undo"])
def test_killed_inside_of_a_removal_nothing_is_left_and_the_same_command_goes_on(tmp_path, act, again):
    for system in ("rename", "look", "unlink"):
        for after_closing in range(1, 5):
            store, writer = prepared(tmp_path / f"{system}-{after_closing}", act)
            seen = [0]

            def kill(number: int, call: str, name: str, system=system, after_closing=after_closing, seen=seen) -> None:
                seen[0] += call == system
                if call == system and seen[0] == after_closing:
                    os._exit(9)

            in_a_process(lambda store=store, writer=writer, kill=kill: act(store, writer, kill))
            assert_starts_right(store)
            if again == "fence":
                with suppress(CheckpointError):
                    fence(store)
            else:
                with suppress(PlanError):
                    while True:
                        apply(make_undo(Stores(store)), Stores(store), **STOPPED, break_lock=True)
            assert_starts_right(store)
            assert asides(store) == []
            if again == "undo":
                assert newest(store, "offsets") <= BATCHES


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_killed_with_the_entry_of_a_writer_aside_the_same_command_gives_it_back(tmp_path):
    store, writer = prepared(tmp_path, exchanged)
    sleeper = Sleeper(store, NEXT)

    def wake_and_kill(number: int, call: str, name: str) -> None:
        if call == "rename":
            sleeper.wake()
        elif sleeper.is_awake:
            os._exit(9)

    in_a_process(lambda: exchanged(store, writer, wake_and_kill))
    assert NEXT not in store.ls("offsets")[0]
    with suppress(CheckpointError):
        fence(store)
    assert store.read(NEXT) == sleeper.entry
