"""A writer beside a fence, and what it leaves; a process that is killed."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.fence.put_fence import put_fence
from airflow_provider_ckpt.codec.offset_log import CLOSING
from airflow_provider_ckpt.errors import CheckpointError, ObjectExistsError
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery
from tests.faults import Fault, FaultyStore

BATCHES = 3
STOPPED = {"query_is_stopped": True, "quiet_s": 0}


class Writer:
    """A query that goes on where it is: plans its next batch exclusively, as Spark does, commits it, plans the next."""

    def __init__(self, store: Store, *, in_flight: bool) -> None:
        self.store, self.query = store, FakeQuery(store)
        for batch_id in range(BATCHES):
            self.query.commit(batch_id)
        self.planned = self.committed = BATCHES - 1
        self.stopped = False
        if in_flight:
            self.go_on()

    def go_on(self) -> None:
        """One step."""
        if self.stopped:
            return
        if self.committed < self.planned:
            self.query.commit(self.planned)
            self.committed = self.planned
            return
        number = self.planned + 1
        kept, self.query.store = self.query.store, _Exclusive(self.store)
        try:
            self.query.plan(number)
            self.planned = number
        except ObjectExistsError:
            self.stopped = True
        finally:
            self.query.store = kept


class _Exclusive:
    def __init__(self, store: Store) -> None:
        self.write = store.create


def fence(store: Store, fault: Fault | None = None, *, wait_s: float = 0.0) -> object:
    stores = Stores(FaultyStore.of(store, fault or Fault()))
    return put_fence(stores, by="ann", wait_s=wait_s, settle_s=0.0, break_lock=True)


def newest(store: Store, log: str) -> int:
    names = (name.rpartition("/")[2] for name in store.ls(log)[0])
    return max(int(name) for name in names if not name.startswith("."))


def assert_starts_right(store: Store) -> None:
    """Spark starts from the newest entry when the batch before it is committed; else it would skip that one."""
    planned, committed = newest(store, "offsets"), newest(store, "commits")
    assert planned in (committed, committed + 1) or store.read(f"offsets/{planned}") == CLOSING, (planned, committed)


class Kill(Fault):
    """Ends the process at a call, as a kill does: nothing is cleared away."""

    def hits(self, call: str, store: Store) -> bool:
        if super().hits(call, store):
            os._exit(9)
        return False


def in_a_process(act: Callable[[], object]) -> None:
    child = os.fork()
    if not child:
        with suppress(CheckpointError):
            act()
        os._exit(0)
    os.waitpid(child, 0)
