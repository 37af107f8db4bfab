"""Restoring a backup to a new or empty location."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from airflow_provider_ckpt.codec.manifest import Manifest
from airflow_provider_ckpt.errors import CheckpointNotFoundError, ObjectExistsError
from airflow_provider_ckpt.lifecycle.applying import Receipt
from airflow_provider_ckpt.lifecycle.backups import corrupt
from airflow_provider_ckpt.lifecycle.observing import OnStep, no_step, now_ms
from airflow_provider_ckpt.objects import StoredObject
from airflow_provider_ckpt.plans import Action, Plan, plan_restore
from airflow_provider_ckpt.store import Store


def make_restore(root: Store, backup: Manifest, target: Store, new_query_id: str | None = None) -> Plan:
    """Plan to write a backup to a new or empty location, or to complete a restore of it that was killed.

    Raises:
        ObjectExistsError: There is something else at the location.
    """
    plan = plan_restore(backup, root.location, target.location, now_ms(), new_query_id)
    _require_own(plan, target, target.find())
    return plan


def restore(plan: Plan, root: Store, target: Store, *, on_step: OnStep = no_step) -> Receipt:
    """Carry out a restore. Killed at any point, the same call completes it.

    Raises:
        ObjectExistsError: There is something else at the location.
        BackupCorruptError: An object of the backup is not what its manifest says.
    """
    started_ms = now_ms()
    there = target.find()
    _require_own(plan, target, there)
    todo = [action for action in plan.actions if action.name not in there]
    for done, action in enumerate(todo, start=1):
        if action.do == "create":
            target.create(action.name, action.data.encode())
        else:
            _copy_verified(root, target, action)
        on_step(done, len(todo), action.name)
    target.flush()
    return Receipt(
        plan.plan_id,
        plan.kind,
        "applied" if todo else "already_applied",
        target.location,
        plan.batch_id,
        len(todo),
        "",
        started_ms,
        now_ms(),
    )


def _copy_verified(root: Store, target: Store, action: Action) -> None:
    try:
        size, sha256 = root.copy(action.source, target, action.name)
    except CheckpointNotFoundError:
        raise corrupt(root, action.source, "is missing") from None
    if (size, sha256) != (action.size, action.sha256):
        target.delete(action.name)
        raise corrupt(root, action.source, "is not what was backed up")


def _require_own(plan: Plan, target: Store, there: Mapping[str, StoredObject]) -> None:
    """What is at the location must be what an earlier run of this very restore wrote."""
    wanted = {action.name: action for action in plan.actions}
    for name, stored in there.items():
        action = wanted.get(name)
        same = action is not None and stored.size == action.size and _same_content(target, action)
        if not same:
            raise ObjectExistsError(
                "the location is not empty.",
                location=target.location,
                name=name,
                hint="Restore to a new location; a restore never writes over anything.",
            )


def _same_content(target: Store, action: Action) -> bool:
    data = target.read(action.name)
    return data == action.data.encode() if action.do == "create" else hashlib.sha256(data).hexdigest() == action.sha256
