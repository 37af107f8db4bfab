"""Backups, prunes and restores: who meets whom, and what is there before."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_ckpt.backup.retention import RetentionPolicy
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.restore.make import make_restore
from tests.interleavings.actors import (
    BACKUPS,
    RESTORED,
    backing_up,
    changing,
    pruning,
    pruning_anew,
    redeploying,
    restoring,
    running,
    undoing,
)
from tests.interleavings.lake import Lake
from tests.interleavings.search import Scenario


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
    parts = changing(kind, "ann", lake.exchange_plan(first)), pruning(kind, "bob", lake.prune_plan())
    return lake.scenario("rollback to a backup, prune", *parts, keeps_backups=True)


def exchange_and_query(kind: str) -> Scenario:
    """The rollback to a backup puts files in the place of those that the query goes by."""
    lake = Lake(kind)
    first = lake.back_up()
    for _ in range(3):
        lake.run_on()
    parts = changing(kind, "ann", lake.exchange_plan(first)), running(kind, "query", 2, rows=7)
    return lake.scenario("rollback to a backup, query", *parts)


def backup_and_backup(kind: str) -> Scenario:
    """Both begin in the same millisecond."""
    lake = Lake(kind)
    parts = backing_up(kind, "ann"), backing_up(kind, "bob")
    return lake.scenario("backup, backup of the same millisecond", *parts, keeps_done=True)


def backup_and_undo(kind: str) -> Scenario:
    lake = Lake(kind)
    lake.back_up()
    lake.roll_back(1)
    lake.run_on()
    return lake.scenario("backup, undo", backing_up(kind, "ann"), undoing(kind, "bob"))


def backup_and_reset(kind: str) -> Scenario:
    lake = Lake(kind)
    parts = backing_up(kind, "ann"), changing(kind, "bob", lake.reset_plan(45))
    return lake.scenario("backup, reset", *parts, moved=(3, 45))


def backup_and_prune_of_base(kind: str) -> Scenario:
    """What the backup of ann refers to is dropped meanwhile: the query has gone on elsewhere, and was backed up there."""
    lake = Lake(kind)
    lake.back_up()
    lake.move("moved", 2)
    lake.back_up("moved")
    parts = backing_up(kind, "ann"), pruning(kind, "bob", lake.prune_plan())
    return lake.scenario("backup, prune of its base", *parts, keeps_backups=True)


def slow_backup_and_prune(kind: str) -> Scenario:
    """The backup outlasts the grace period of the prune."""
    lake = Lake(kind)
    lake.back_up()
    lake.move("moved", 2)
    lake.back_up("moved")
    parts = backing_up(kind, "ann"), pruning_anew(kind, "bob", keep=1, grace_ms=-86_400_000)
    return lake.scenario("slow backup, prune", *parts, keeps_backups=True, done_backups_only=True)


def backup_crash_and_prune(kind: str) -> Scenario:
    lake = Lake(kind)
    lake.back_up()
    lake.run_on()
    parts = backing_up(kind, "ann"), backing_up(kind, "bob", keep=1, after_crash_of="ann")
    return lake.scenario("backup, crash, backup and prune", *parts, crashes=("ann",), keeps_backups=True)


def prunes_that_disagree(kind: str) -> Scenario:
    """Each keeps what the other one drops."""
    lake = Lake(kind)
    lake.back_up(tags=("release",))
    lake.run_on()
    lake.back_up()
    newest, tagged = lake.prune_plan(), lake.prune_plan(keep_tags=("release",))
    parts = pruning(kind, "ann", newest), pruning(kind, "bob", tagged)
    return lake.scenario("prune, prune by other rules", *parts, keeps_backups=True)


def prune_crash_and_prune(kind: str) -> Scenario:
    lake = Lake(kind)
    for _ in range(2):
        lake.back_up()
        lake.run_on()
    plan = lake.prune_plan()
    parts = pruning(kind, "ann", plan), pruning(kind, "bob", plan, after_crash_of="ann")
    return lake.scenario("prune, crash, prune", *parts, crashes=("ann",), keeps_backups=True)


def restore_crash_and_again(kind: str) -> Scenario:
    lake = Lake(kind)
    first = lake.back_up()
    plan = make_restore(lake.open(BACKUPS), first, lake.open(RESTORED))
    parts = restoring(kind, "ann", plan), restoring(kind, "bob", plan, after_crash_of="ann")
    return lake.scenario("restore, crash, again", *parts, crashes=("ann",), restores=first.batch_id)


def restore_and_restore(kind: str) -> Scenario:
    lake = Lake(kind)
    first = lake.back_up()
    plan = make_restore(lake.open(BACKUPS), first, lake.open(RESTORED))
    parts = restoring(kind, "ann", plan), restoring(kind, "bob", plan)
    return lake.scenario("restore, second restore", *parts, restores=first.batch_id)


def exchange_crash_and_again(kind: str) -> Scenario:
    """Whoever completes a rollback to a backup does not need the backup any more once all is laid ready."""

    def laid_out() -> tuple[Lake, Plan]:
        lake = Lake(kind)
        first = lake.back_up()
        lake.run_on(3)
        return lake, lake.exchange_plan(first)

    other, done = laid_out()
    after = other.carry_out(done)
    lake, plan = laid_out()
    parts = changing(kind, "ann", plan), changing(kind, "bob", plan, after_crash_of="ann")
    return lake.scenario("rollback to a backup, crash, again", *parts, crashes=("ann",), after_crash=after)


def backup_query_and_prune(kind: str) -> Scenario:
    lake = Lake(kind)
    lake.back_up()
    lake.move("moved", 2)
    lake.back_up("moved")
    parts = backing_up(kind, "ann"), running(kind, "query", 1, retain=1), pruning(kind, "bob", lake.prune_plan())
    return lake.scenario("backup, query, prune of its base", *parts, keeps_backups=True)


def restore_backup_and_prune(kind: str) -> Scenario:
    lake = Lake(kind)
    first = lake.back_up()
    lake.run_on()
    lake.back_up()
    plan = make_restore(lake.open(BACKUPS), first, lake.open(RESTORED))
    parts = restoring(kind, "ann", plan), backing_up(kind, "eve"), pruning(kind, "bob", lake.prune_plan())
    return lake.scenario("restore, backup, prune", *parts, keeps_backups=True, restores=first.batch_id)
