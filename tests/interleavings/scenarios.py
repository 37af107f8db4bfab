"""Who meets whom, and what is there before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from airflow_provider_ckpt.backup.make_prune import make_prune
from airflow_provider_ckpt.backup.make_restore import make_restore
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.prune_plan import PrunePlan
from airflow_provider_ckpt.backup.retention import RetentionPolicy
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.rollback.goal import ToBackup
from airflow_provider_ckpt.rollback.make import make_rollback
from airflow_provider_ckpt.storage.store import Store
from tests.interleavings import query
from tests.interleavings.actors import (
    BACKUPS,
    CHECKPOINT,
    RESTORED,
    backing_up,
    changing,
    pruning,
    redeploying,
    restoring,
    running,
    undoing,
)
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

    def roll_back(self, target: int = 0) -> None:
        """A rollback that is complete."""
        stores = Stores(self.checkpoint)
        apply(make_rollback(stores, target), stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")

    def back_up(self) -> Manifest:
        """A backup that is complete."""
        return take_backup(self.checkpoint, self.open(BACKUPS), threads=1)

    def run_on(self) -> None:
        """The query runs a batch more."""
        query.run_query(self.checkpoint, 1)

    def prune_plan(self, keep: int = 1, grace_ms: int = 0) -> PrunePlan:
        """The plan to keep the newest backups."""
        return make_prune(self.open(BACKUPS), RetentionPolicy(keep_last=keep), grace_ms=grace_ms)

    def rollback_plan(self, target: int) -> Plan:
        """The plan of a rollback."""
        return make_rollback(Stores(self.checkpoint), target)


# --- changes ---------------------------------------------------------------------------------------------------------


def rollback_alone(kind: str) -> Scenario:
    lake = Lake(kind)
    plan = lake.rollback_plan(0)
    return lake.scenario("rollback", changing(kind, "ann", plan), must_start=True, recorded=plan)


def undo_alone(kind: str) -> Scenario:
    lake = Lake(kind)
    before = lake.files
    lake.roll_back()
    plan = make_undo(Stores(lake.checkpoint))
    parts = (changing(kind, "ann", plan),)
    return lake.scenario("undo", *parts, must_start=True, recorded=plan, given_back=before)


def rollback_and_query(kind: str) -> Scenario:
    lake = Lake(kind)
    parts = changing(kind, "ann", lake.rollback_plan(1)), running(kind, "query", 2, rows=7)
    return lake.scenario("rollback, query", *parts)


def undo_and_query(kind: str) -> Scenario:
    lake = Lake(kind)
    lake.roll_back(1)
    plan = make_undo(Stores(lake.checkpoint))
    return lake.scenario("undo, query", changing(kind, "ann", plan), running(kind, "query", 2, rows=7))


def rollback_and_rollback(kind: str) -> Scenario:
    lake = Lake(kind)
    ann, bob = (lake.rollback_plan(target) for target in (0, 1))
    parts = changing(kind, "ann", ann), changing(kind, "bob", bob)
    return lake.scenario("rollback, second rollback", *parts, must_start=True)


def undo_and_rollback(kind: str) -> Scenario:
    lake = Lake(kind)
    lake.roll_back(1)
    ann, bob = make_undo(Stores(lake.checkpoint)), lake.rollback_plan(0)
    parts = changing(kind, "ann", ann), changing(kind, "bob", bob)
    return lake.scenario("undo, second rollback", *parts, must_start=True)


def crash_and_undo(kind: str) -> Scenario:
    lake = Lake(kind)
    parts = changing(kind, "ann", lake.rollback_plan(0)), undoing(kind, "bob", after_crash_of="ann")
    return lake.scenario("rollback, crash, undo", *parts, crashes=("ann",), must_start=True, after_crash=lake.files)


def crash_and_again(kind: str) -> Scenario:
    lake = Lake(kind)
    plan = lake.rollback_plan(0)
    after = {name: data for name, data in lake.files.items() if name not in {item.name for item in plan.actions}}
    parts = changing(kind, "ann", plan), changing(kind, "bob", plan, after_crash_of="ann")
    return lake.scenario("rollback, crash, again", *parts, crashes=("ann",), must_start=True, after_crash=after)


def crash_and_two_rescuers(kind: str) -> Scenario:
    lake = Lake(kind)
    plan = lake.rollback_plan(0)
    rescuers = (changing(kind, name, plan, after_crash_of="ann") for name in ("bob", "eve"))
    parts = changing(kind, "ann", plan), *rescuers
    return lake.scenario("rollback, crash, two that complete it", *parts, crashes=("ann",), must_start=True)


def rollback_query_and_undo(kind: str) -> Scenario:
    lake = Lake(kind)
    parts = changing(kind, "ann", lake.rollback_plan(1)), running(kind, "query", 1, rows=7), undoing(kind, "bob")
    return lake.scenario("rollback, query, undo", *parts)


# --- backups ---------------------------------------------------------------------------------------------------------


def backup_alone(kind: str) -> Scenario:
    lake = Lake(kind)
    return lake.scenario("backup", backing_up(kind, "ann"))


def backup_and_query(kind: str) -> Scenario:
    lake = Lake(kind)
    return lake.scenario("backup, query", backing_up(kind, "ann"), running(kind, "query", 2, retain=1))


def backup_and_rollback(kind: str) -> Scenario:
    lake = Lake(kind)
    lake.back_up()
    deploy = redeploying(kind, "bob", lake.rollback_plan(1), 1, rows=7)
    return lake.scenario("backup, rollback and rerun", backing_up(kind, "ann"), deploy)


def backup_and_prune(kind: str) -> Scenario:
    """The backup that the one of ann may refer to is dropped when bob has a newer one."""
    lake = Lake(kind)
    lake.back_up()
    lake.run_on()
    parts = backing_up(kind, "ann"), backing_up(kind, "bob", keep=1)
    return lake.scenario("backup, backup and prune", *parts, keeps_backups=True)


def prune_and_prune(kind: str) -> Scenario:
    lake = Lake(kind)
    for _ in range(2):
        lake.back_up()
        lake.run_on()
    ann = lake.prune_plan()
    bob = replace(ann, policy=RetentionPolicy(keep_last=1, keep_daily=1))
    parts = pruning(kind, "ann", ann), pruning(kind, "bob", bob)
    return lake.scenario("prune, second prune", *parts, keeps_backups=True)


def restore_and_prune(kind: str) -> Scenario:
    lake = Lake(kind)
    first = lake.back_up()
    lake.run_on()
    lake.back_up()
    plan = make_restore(lake.open(BACKUPS), first, lake.open(RESTORED))
    parts = restoring(kind, "ann", plan), pruning(kind, "bob", lake.prune_plan())
    return lake.scenario("restore, prune", *parts, keeps_backups=True, restores=first.batch_id)


def exchange_and_prune(kind: str) -> Scenario:
    """The rollback to a backup takes files from it that the checkpoint does not have any more."""
    lake = Lake(kind)
    first = lake.back_up()
    for _ in range(3):
        lake.run_on()
    lake.back_up()
    root = lake.open(BACKUPS)
    plan = make_rollback(Stores(lake.checkpoint, backups=root), ToBackup(root.location, first.backup_id))
    parts = changing(kind, "ann", plan), pruning(kind, "bob", lake.prune_plan())
    return lake.scenario("rollback to a backup, prune", *parts, keeps_backups=True)


#: Two actors each: all that must hold, and is tried with one preemption in `make test`.
PAIRS: tuple[Callable[[str], Scenario], ...] = (
    rollback_and_query,
    undo_and_query,
    rollback_and_rollback,
    undo_and_rollback,
    crash_and_undo,
    crash_and_again,
    backup_and_query,
    backup_and_rollback,
    backup_and_prune,
    prune_and_prune,
    restore_and_prune,
    exchange_and_prune,
)
#: Three actors each, for `make interleavings` alone.
THREES: tuple[Callable[[str], Scenario], ...] = (crash_and_two_rescuers, rollback_query_and_undo)
