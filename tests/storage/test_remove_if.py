"""An object is removed as long as it is a certain one, also beside a writer that renames its own to that name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.storage import remove_if as module
from airflow_provider_ckpt.storage.store import Store

NAME = "offsets/8"
OURS, THEIRS, THIRD = b"ours", b"theirs", b"a third one"
#: What the removal asks the system for, in this order, when the object is the one that was meant.
CALLS = ("stat", "stat", "rename", "stat", "unlink")
#: As the system has it, when a test watches that of Python.
RENAME = os.rename


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path / "orders"))


def rename_over(store: Store, data: bytes) -> None:
    """What Spark does at the end of its write, when it had found the name free: the rename of a local file system."""
    temporary = Path(store.root) / "offsets/.8.6b1f.tmp"
    temporary.write_bytes(data)
    RENAME(temporary, Path(store.root) / NAME)


def before_each_call(monkeypatch, act: Callable[[int], None]) -> list[str]:
    """Call something before each call of the system, with its number from 0; what was called."""
    seen: list[str] = []

    def watched(name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            seen.append(name)
            act(len(seen) - 1)
            return real(*arguments)

        return call

    monkeypatch.setattr(module, "stat", watched("stat", module.stat))
    for name in ("rename", "unlink", "link"):
        monkeypatch.setattr(module.os, name, watched(name, getattr(os, name)))
    return seen


def meant(store: Store) -> str:
    store.create(NAME, OURS)
    stored = store.stat(NAME)
    assert stored is not None
    return stored.identity


def files(store: Store) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (Path(store.root) / "offsets").iterdir()}


def test_the_object_that_is_meant_goes_and_another_one_stays(store):
    identity = meant(store)
    assert store.delete_if(NAME, identity) and files(store) == {}
    assert store.delete_if(NAME, identity), "it is gone"
    store.create(NAME, THEIRS)
    assert not store.delete_if(NAME, identity)
    assert files(store) == {"8": THEIRS}


@pytest.mark.parametrize("at", range(len(CALLS)))
def test_a_writer_that_renames_at_any_call_keeps_its_object(store, monkeypatch, at):
    identity = meant(store)
    with monkeypatch.context() as patched:
        seen = before_each_call(patched, lambda number: rename_over(store, THEIRS) if number == at else None)
        removed = store.delete_if(NAME, identity)
    # Once the object is aside, its name is free: who takes it then comes after the removal.
    assert removed is (at > CALLS.index("rename"))
    assert seen[: at + 1] == list(CALLS[: at + 1])
    assert files(store) == {"8": THEIRS}


def test_between_two_writers_the_last_one_has_the_name_and_the_other_one_is_kept_aside(store, monkeypatch):
    identity = meant(store)
    writes = {CALLS.index("rename"): THEIRS, CALLS.index("rename") + 1: THIRD}
    with monkeypatch.context() as patched:
        before_each_call(patched, lambda number: number in writes and rename_over(store, writes[number]))
        assert not store.delete_if(NAME, identity)
    left = files(store)
    assert left.pop("8") == THIRD
    assert list(left.values()) == [THEIRS]
    store.settle("offsets")
    assert sorted(files(store).values()) == sorted([THIRD, THEIRS])


def in_a_process(act: Callable[[], object]) -> None:
    child = os.fork()
    if not child:
        act()
        os._exit(0)
    os.waitpid(child, 0)


def killed(store: Store, monkeypatch, *, writer_at: int | None) -> Iterator[int]:
    """Removals that are killed before each call of the system, beside a writer that comes at one of them."""
    for at in range(1, 8):
        for path in (Path(store.root) / "offsets").glob("*") if at > 1 else ():
            path.unlink()
        identity = meant(store)

        def act(number: int, at: int = at) -> None:
            if number == writer_at:
                rename_over(store, THEIRS)
            if number == at:
                os._exit(9)

        def remove(identity: str = identity, act: Callable[[int], None] = act) -> None:
            before_each_call(monkeypatch, act)
            store.delete_if(NAME, identity)

        in_a_process(remove)
        yield at


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_what_a_kill_leaves_is_a_temporary_file_and_is_ended(store, monkeypatch):
    left = set()
    for at in killed(store, monkeypatch, writer_at=None):
        found = files(store)
        left.add(tuple(name == "8" for name in found))
        for name in found.keys() - {"8"}:
            assert isinstance(layout.parse(f"offsets/{name}"), layout.Temporary), at
        store.settle("offsets")
        assert files(store) in ({"8": OURS}, {}), at
    assert left == {(True,), (False,), ()}, "before the rename, after it, and at the end"


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_killed_with_the_object_of_a_writer_aside_it_comes_back(store, monkeypatch):
    for at in killed(store, monkeypatch, writer_at=CALLS.index("rename")):
        store.settle("offsets")
        expected = {"8": THEIRS} if at >= CALLS.index("rename") else {"8": OURS}
        assert files(store) == expected, at


def test_the_same_removal_again_ends_what_was_begun(store):
    identity = meant(store)
    path = Path(store.root) / NAME
    path.rename(module._aside_of(str(path), identity))
    assert store.delete_if(NAME, identity)
    assert files(store) == {}


def test_the_temporary_files_of_spark_are_left_alone(store):
    meant(store)
    own = Path(store.root) / "offsets/.8.0452ff5f-46d2-4629-a6b1-575712dad25a.tmp"
    own.write_bytes(THEIRS)
    store.settle("offsets")
    store.settle("commits")
    assert files(store) == {"8": OURS, own.name: THEIRS}
