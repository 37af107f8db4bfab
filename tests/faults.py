"""A store that fails at the n-th call, for fault injection; everything else is the real store."""

from __future__ import annotations

import os
from threading import Lock
from typing import Any

from airflow_provider_ckpt.errors import StoreUnavailableError
from airflow_provider_ckpt.storage.store import Store

_CALLS = (
    "ls",
    "find",
    "read",
    "read_up_to",
    "create",
    "write",
    "delete",
    "delete_if",
    "stat",
    "copy",
    "keep",
    "put_over",
    "sha256",
    "remove_empty",
)


class Fault:
    """Counts calls over all stores that share it, and fails at one of them.

    With ``after`` the call is carried out and then fails: the answer got lost. It fails once.
    """

    def __init__(self, at: int | None = None, *, after: bool = False) -> None:
        self.at, self.after, self.calls = at, after, 0
        self._counting = Lock()

    def hits(self, call: str, store: Store) -> bool:
        """Whether this call of a store is the one that fails."""
        with self._counting:
            self.calls += 1
            return self.calls == self.at

    def hits_object(self, call: str, store: Store, name: str) -> bool:
        """The same for whom it matters which object the call is about; empty where it is about none."""
        return self.hits(call, store)


def calls_to_fail(count: int, samples: int) -> list[int]:
    """Which of an action's calls to let fail: all with CKPT_EXHAUSTIVE, else a sample all over, of 3 in ``make unit``."""
    if os.environ.get("CKPT_EXHAUSTIVE"):
        return list(range(1, count + 1))
    samples = min(samples, 3) if os.environ.get("CKPT_UNIT") else samples
    return sorted({1 + round((number + 0.5) * (count - 1) / samples) for number in range(samples)})


class Kill(Fault):
    """Ends the process at a call, as a kill does: nothing is cleared away."""

    def hits(self, call: str, store: Store) -> bool:
        if super().hits(call, store):
            os._exit(9)
        return False


class FaultyStore(Store):
    """A store whose calls go through a :class:`Fault`."""

    fault: Fault

    @classmethod
    def over(cls, location: str, fault: Fault) -> FaultyStore:
        store = cls.open(location)
        store.fault = fault
        return store

    @classmethod
    def of(cls, store: Store, fault: Fault) -> FaultyStore:
        """The same location, with faults."""
        faulty = cls(store.fs, store.root, store.location)
        faulty.fault = fault
        return faulty

    def child(self, name: str) -> Store:
        return self._with_fault(super().child(name))

    def sibling(self, name: str) -> Store:
        return self._with_fault(super().sibling(name))

    def at(self, location: str) -> Store:
        return self._with_fault(super().at(location))

    def _with_fault(self, store: Any) -> Store:
        store.fault = self.fault
        return store


def _failing(name: str) -> Any:
    def call(self: FaultyStore, *arguments: Any, **options: Any) -> Any:
        if not self.fault.hits_object(name, self, str(arguments[0]) if arguments else ""):
            return getattr(Store, name)(self, *arguments, **options)
        if self.fault.after:
            getattr(Store, name)(self, *arguments, **options)
        raise StoreUnavailableError(
            f"injected at call {self.fault.calls}: {name} {arguments[:1]}", location=self.location
        )

    return call


for _name in _CALLS:
    setattr(FaultyStore, _name, _failing(_name))
