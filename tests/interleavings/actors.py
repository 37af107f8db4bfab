"""The actors: each an operation of the package as it is, or the query, over the storage of a run."""

from __future__ import annotations

from collections.abc import Callable

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.storage.store import Store
from tests.interleavings import query
from tests.interleavings.clock import AHEAD_MS
from tests.interleavings.scheduler import Actor, Part, Reach
from tests.interleavings.stores import ROOTS, open_store

CHECKPOINT, RECORDS, BACKUPS = "orders", "_ckpt_undo", "backups"


def opened(kind: str) -> Callable[[Actor, str], Store]:
    """Opens a location as an actor sees it."""
    return lambda actor, name: open_store(kind, actor.run.world, actor, name)


def reach(kind: str, reads: tuple[str, ...], writes: tuple[str, ...]) -> Reach:
    root = ROOTS[kind]
    return Reach(tuple(f"{root}/{name}" for name in reads), tuple(f"{root}/{name}" for name in writes))


def changing(kind: str, name: str, plan: Plan, **options: object) -> Part:
    """An operator who carries out a plan in place; the word that the query is stopped may be wrong."""

    def act(actor: Actor) -> None:
        stores = Stores(opened(kind)(actor, CHECKPOINT), backups=opened(kind)(actor, BACKUPS))
        apply(plan, stores, by=name, query_is_stopped=True, quiet_s=0, accept_sink="unknown", **options)

    return Part(name, act, reach(kind, (BACKUPS,), (CHECKPOINT, RECORDS)))


def running(kind: str, name: str, count: int, **options: int) -> Part:
    """The query: it starts from what is there, and runs some batches."""

    def act(actor: Actor) -> None:
        query.run_query(opened(kind)(actor, CHECKPOINT), count, **options)

    return Part(name, act, reach(kind, (), (CHECKPOINT,)), is_operator=False, ahead_ms=AHEAD_MS)
