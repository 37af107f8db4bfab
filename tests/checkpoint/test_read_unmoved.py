"""What is listed and gone when it is read: done again, and after some tries the error of a query that runs."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.read_unmoved import MOST_TRIES, read_unmoved
from airflow_provider_ckpt.errors import CheckpointBusyError, CheckpointMovedError, ObjectNotFoundError
from airflow_provider_ckpt.storage.store import Store


class Reader:
    """Reads a file of a store that is not there, until it is."""

    def __init__(self, store: Store, name: str, *, there_at: int | None = None) -> None:
        self.store, self.name, self.there_at, self.tries = store, name, there_at, 0

    def __call__(self) -> bytes:
        self.tries += 1
        if self.tries == self.there_at:
            self.store.write(self.name, b"now")
        return self.store.read(self.name)


@pytest.fixture
def store(tmp_path) -> Store:
    return Store.open(str(tmp_path / "orders"))


def test_it_is_read_again_until_nothing_is_gone(store):
    reader = Reader(store, "offsets/6", there_at=MOST_TRIES)
    assert read_unmoved(reader, None, store) == b"now"
    assert reader.tries == MOST_TRIES


def test_what_goes_at_every_try_is_of_a_running_query(store):
    reader = Reader(store, "offsets/.6.crc")
    with pytest.raises(CheckpointMovedError, match=r"orders/offsets/\.6\.crc: a query is running") as refused:
        read_unmoved(reader, store)
    assert reader.tries == MOST_TRIES
    assert isinstance(refused.value, CheckpointBusyError)
    assert (refused.value.exit_code, refused.value.retryable) == (4, True)
    assert "not found" not in str(refused.value) and refused.value.hint


def test_what_is_missing_elsewhere_is_missing(store, tmp_path):
    """Of a backup, say: nobody purges there."""
    reader = Reader(Store.open(str(tmp_path / "backups")), "manifest.json")
    with pytest.raises(ObjectNotFoundError, match="not found"):
        read_unmoved(reader, store)
    assert reader.tries == 1


def test_a_link_that_leads_nowhere_was_not_removed(store, tmp_path):
    store.write("offsets/0", b"")
    (tmp_path / "orders/offsets/1").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ObjectNotFoundError, match="not found"):
        read_unmoved(Reader(store, "offsets/1"), store)
