"""The chain of one state store, format 1: which whole version and which changes bring it to a version."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.state.chain import NO_SNAPSHOT, StateStore, chain_v1, state_file_name
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.layout import StateFile, StateStoreId
from airflow_provider_ckpt.storage.requests import drive
from airflow_provider_ckpt.storage.stored_object import StoredObject

STORE = StateStoreId(0, 0)
AT = STORE.directory


def store(*names: str, broken: tuple[str, ...] = (), families: bool = False) -> StateStore:
    """A store with these files; each is named as in its directory."""
    files = {}
    for name in names:
        place = layout.parse(f"{AT}/{name}")
        assert isinstance(place, StateFile)
        files[place] = StoredObject(f"{AT}/{name}", 9, 0, "")
    return StateStore(STORE, files, {}, {f"{AT}/{name}": "cut off" for name in broken}, families)


CHAINS = {
    "changes from the first": (store("1.delta", "2.delta", "3.delta"), 3, "1.delta 2.delta 3.delta", ()),
    "the newest snapshot, and what came after it": (
        store("1.delta", "2.snapshot", "2.delta", "3.delta", "4.delta"), 4, "2.snapshot 3.delta 4.delta", ()
    ),
    "a later snapshot does not count": (store("1.delta", "2.delta", "3.snapshot"), 2, "1.delta 2.delta", ()),
    "a change is missing": (store("1.delta", "3.delta"), 3, "1.delta 3.delta", ("2.delta",)),
    "the last change is missing": (store("1.delta"), 2, "1.delta", ("2.delta",)),
    "an older snapshot makes up for a broken one": (
        store("1.snapshot", "2.delta", "3.snapshot", "3.delta", "4.delta", broken=("3.snapshot",)), 4,
        "1.snapshot 2.delta 3.delta 4.delta", (),
    ),
    "changelogs alone, where a zip names the column families": (
        store("1.changelog", "2.changelog", families=True), 2, "1.changelog 2.changelog", (f"1.zip: {NO_SNAPSHOT}",)
    ),
    "nothing": (store(), 1, "", ("1.changelog",)),
}  # fmt: skip


@pytest.mark.parametrize(("files", "version", "names", "missing"), CHAINS.values(), ids=CHAINS)
def test_what_brings_a_store_to_a_version(files, version, names, missing):
    kinds = [file.kind for file in files.files] or ["changelog"]
    chain = drive(chain_v1(files, version, kinds), lambda name: pytest.fail(f"{name} need not be read"))
    assert chain.names == [f"{AT}/{name}" for name in names.split()]
    assert chain.missing == [f"{AT}/{name}" for name in missing]


def test_what_was_made_up_for_is_said():
    files = store("1.snapshot", "2.delta", "2.snapshot", broken=("2.snapshot",))
    chain = drive(chain_v1(files, 2, ["delta"]), lambda name: b"")
    assert chain.repaired == [f"{AT}/2.snapshot: cut off"] and not chain.missing


@pytest.mark.parametrize(("unique_id", "expected"), [(None, "7.zip"), ("a-b", "7_a-b.zip")])
def test_the_name_of_a_state_file(unique_id, expected):
    assert state_file_name(7, unique_id, "zip") == expected
