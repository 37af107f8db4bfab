"""The actors: each an operation of the package as it is, or the query, over the storage of a run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from airflow_provider_ckpt.backup.make_prune import make_prune
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.prune import prune
from airflow_provider_ckpt.backup.retention import PrunePlan, RetentionPolicy
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.fence.put_fence import put_fence
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.storage.store import Store
from tests.interleavings import query
from tests.interleavings.clock import AHEAD_MS
from tests.interleavings.scheduler import Actor, Part, Reach
from tests.interleavings.stores import ROOTS, open_store

CHECKPOINT, RECORDS, BACKUPS, RESTORED = "orders", "_ckpt_undo", "backups", "restored"
#: The effects on a sink that operators accept; there is none here.
ACCEPTED = ("unknown", "duplicated", "skipped")
#: Longer than any backup here takes: one that outlasts it, and is killed right then, has a hole (`backup/take.py`).
GRACE_MS = 60_000


def opened(kind: str, actor: Actor, name: str) -> Store:
    """A location as an actor sees it."""
    return open_store(kind, actor.run.world, actor, name)


def reach(kind: str, reads: tuple[str, ...], writes: tuple[str, ...]) -> Reach:
    """The directories that an actor may read, and those that it may write as well, by their names."""
    root = ROOTS[kind]
    return Reach(tuple(f"{root}/{name}" for name in reads), tuple(f"{root}/{name}" for name in writes))


def _in_place(kind: str, name: str, plan: Callable[[Stores], Plan], after_crash_of: str = "") -> Part:
    def act(actor: Actor) -> None:
        stores = Stores(opened(kind, actor, CHECKPOINT), backups=opened(kind, actor, BACKUPS))
        apply(plan(stores), stores, by=name, query_is_stopped=True, quiet_s=0, accept_sink=ACCEPTED)

    where = reach(kind, (BACKUPS,), (CHECKPOINT, RECORDS))
    return Part(name, act, where, after_crash_of=after_crash_of)


def changing(kind: str, name: str, plan: Plan, *, after_crash_of: str = "") -> Part:
    """An operator who carries out a plan in place; the word that the query is stopped may be wrong."""
    return _in_place(kind, name, lambda stores: plan, after_crash_of)


def undoing(kind: str, name: str, *, after_crash_of: str = "") -> Part:
    """An operator who takes back the newest change, whatever that is by then."""
    return _in_place(kind, name, make_undo, after_crash_of)


def rolling_back(kind: str, name: str, target: int, *, after_crash_of: str = "") -> Part:
    """An operator who looks what is there, and rolls it back."""
    return _in_place(kind, name, lambda stores: make_rollback(stores, target), after_crash_of)


def fencing(kind: str, name: str, *, after_crash_of: str = "") -> Part:
    """An operator who fences the checkpoint; the batch in flight is looked for once."""

    def act(actor: Actor) -> None:
        stores = Stores(opened(kind, actor, CHECKPOINT), backups=opened(kind, actor, BACKUPS))
        put_fence(stores, by=name, wait_s=0, settle_s=0)

    return Part(name, act, reach(kind, (), (CHECKPOINT, RECORDS)), after_crash_of=after_crash_of)


def running(
    kind: str, name: str, count: int, *, rows: int = query.ROWS, retain: int = 2, after_crash_of: str = ""
) -> Part:
    """The query: it starts from what is there, and runs some batches."""

    def act(actor: Actor) -> None:
        with suppress(query.StoppedError):
            query.run_query(opened(kind, actor, CHECKPOINT), count, rows=rows, retain=retain)

    where = reach(kind, (), (CHECKPOINT,))
    return Part(name, act, where, is_operator=False, ahead_ms=AHEAD_MS, after_crash_of=after_crash_of)


def redeploying(kind: str, name: str, plan: Plan, count: int, rows: int) -> Part:
    """An operator who rolls back and then starts the query, which runs other batches."""
    change, run = changing(kind, name, plan), running(kind, name, count, rows=rows)

    def act(actor: Actor) -> None:
        change.act(actor)
        actor.is_operator = False
        run.act(actor)

    return replace(change, act=act)


def backing_up(kind: str, name: str, *, keep: int = 0, after_crash_of: str = "") -> Part:
    """A backup of whatever is there, and a prune of all but the newest ones after that."""

    def act(actor: Actor) -> Manifest:
        checkpoint, root = opened(kind, actor, CHECKPOINT), opened(kind, actor, BACKUPS)
        taken = take_backup(checkpoint, root, threads=1, commit_wait_s=0)
        if keep:
            prune(make_prune(root, RetentionPolicy(keep_last=keep), grace_ms=GRACE_MS), root, by=name, threads=1)
        return taken

    where = reach(kind, (CHECKPOINT,), (BACKUPS,))
    return Part(name, act, where, ahead_ms=1 if keep else 0, after_crash_of=after_crash_of)


def pruning(kind: str, name: str, plan: PrunePlan, *, after_crash_of: str = "") -> Part:
    """A prune of the backups."""

    def act(actor: Actor) -> None:
        prune(plan, opened(kind, actor, BACKUPS), by=name, threads=1)

    return Part(name, act, reach(kind, (), (BACKUPS,)), after_crash_of=after_crash_of)


def pruning_anew(kind: str, name: str, *, keep: int, grace_ms: int) -> Part:
    """A prune of what is there then; with a negative grace everything is old."""

    def act(actor: Actor) -> None:
        root = opened(kind, actor, BACKUPS)
        prune(make_prune(root, RetentionPolicy(keep_last=keep), grace_ms=grace_ms), root, by=name, threads=1)

    return Part(name, act, reach(kind, (), (BACKUPS,)))


def restoring(kind: str, name: str, plan: Plan, *, after_crash_of: str = "") -> Part:
    """A restore to a new location."""

    def act(actor: Actor) -> None:
        root, target = opened(kind, actor, BACKUPS), opened(kind, actor, RESTORED)
        restore(plan, root, target, by=name, threads=1, accept_sink=ACCEPTED)

    where = reach(kind, (BACKUPS, CHECKPOINT), (RESTORED, RECORDS))
    return Part(name, act, where, after_crash_of=after_crash_of, makes=RESTORED)
