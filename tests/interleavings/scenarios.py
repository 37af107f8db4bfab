"""Who meets whom, and what is there before."""

from __future__ import annotations

from collections.abc import Callable

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.rollback.make import make_rollback
from airflow_provider_ckpt.storage.store import Store
from tests.interleavings import query
from tests.interleavings.actors import CHECKPOINT, changing, running
from tests.interleavings.clock import crashed
from tests.interleavings.invariants import Invariants
from tests.interleavings.search import Scenario
from tests.interleavings.stores import ROOTS, open_store
from tests.interleavings.world import World

BATCHES = 3


class Lake:
    """A checkpoint of three batches, and what is beside it."""

    def __init__(self, kind: str) -> None:
        self.kind, self.world = kind, World()
        self.checkpoint = self.open(CHECKPOINT)
        self.checkpoint.write("metadata", query.metadata())
        for batch_id in range(BATCHES):
            begin, end = batch_id * query.ROWS, (batch_id + 1) * query.ROWS
            self.checkpoint.write(f"offsets/{batch_id}", query.offsets(batch_id, end))
            self.checkpoint.write(f"{query.STATE}/{batch_id + 1}.delta", query.state(begin, end))
            if batch_id == BATCHES - 1:
                self.checkpoint.write(f"{query.STATE}/{batch_id + 1}.snapshot", query.state(0, end))
            self.checkpoint.write(f"commits/{batch_id}", query.COMMIT)

    def open(self, name: str) -> Store:
        """A location, as whoever lays things out sees it."""
        return open_store(self.kind, self.world, None, name)

    @property
    def files(self) -> dict[str, bytes]:
        """The checkpoint."""
        return self.world.files(f"{ROOTS[self.kind]}/{CHECKPOINT}")

    def scenario(self, name: str, *parts, crashes: tuple[str, ...] = (), **judged) -> Scenario:
        original, kind = self.files, self.kind
        return Scenario(
            name,
            kind,
            self.world,
            f"{ROOTS[kind]}/{CHECKPOINT}",
            parts,
            lambda: Invariants(kind, original, **judged),
            crashed,
            crashes,
        )


def rollback_alone(kind: str) -> Scenario:
    lake = Lake(kind)
    plan = make_rollback(Stores(lake.checkpoint), 0)
    return lake.scenario("rollback", changing(kind, "ann", plan), must_start=True, recorded=plan)


def rollback_and_query(kind: str) -> Scenario:
    lake = Lake(kind)
    plan = make_rollback(Stores(lake.checkpoint), 1)
    return lake.scenario("rollback, query", changing(kind, "ann", plan), running(kind, "query", 2, rows=7))


def rollback_and_rollback(kind: str) -> Scenario:
    lake = Lake(kind)
    ann, bob = (make_rollback(Stores(lake.checkpoint), target) for target in (0, 1))
    parts = changing(kind, "ann", ann), changing(kind, "bob", bob)
    return lake.scenario("rollback, second rollback", *parts, must_start=True)


#: All that must hold.
SCENARIOS: tuple[Callable[[str], Scenario], ...] = (rollback_and_query, rollback_and_rollback)
