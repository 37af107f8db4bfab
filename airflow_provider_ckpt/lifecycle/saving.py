"""What a change lays ready beside the checkpoint before its first step: what it will remove, and what it will add.

Both are checked there. From then on neither a removal nor the end of the backup that copies come from loses anything,
and the change can be completed or undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from airflow_provider_ckpt.errors import CheckpointNotFoundError, PlanError, StalePlanError, StoreError
from airflow_provider_ckpt.lifecycle import records
from airflow_provider_ckpt.lifecycle.verifying import corrupt
from airflow_provider_ckpt.plans import Action, Plan
from airflow_provider_ckpt.store import Store


def save(actions: Iterable[Action], place: Callable[[str], Store], record: Store) -> None:
    """Give every object that will be removed a second name in the record, and see that it is whole there."""
    saved = record.child(records.SAVED_OBJECTS)
    deletes = [action for action in actions if action.do == "delete"]
    there = saved.find() if deletes else {}
    for action in deletes:
        name = f"{action.place}/{action.name}"
        if name in there:  # of a run that was killed while it saved: begin this one again
            saved.delete(name)
        place(action.place).keep(action.name, saved, name)
    whole = saved.find() if deletes else {}
    for action in deletes:
        name = f"{action.place}/{action.name}"
        if name not in whole or whole[name].size != action.size:
            raise StoreError("could not be saved before its removal", location=record.location, name=action.name)
    record.flush()
    records.write_once(record, records.SAVED, {"objects": len(deletes)})
    record.flush()


def stage(
    actions: Iterable[Action], plan: Plan, checkpoint: Store, backups: Store | None, record: Store, *, begun: bool
) -> None:
    """Copy what will come from a backup into the record, verified.

    Args:
        actions: What is left to be done.
        plan: The plan that they are of.
        checkpoint: Where the copies will go.
        backups: The backup root; not needed any more when the change has ``begun``, and so everything is staged.
        record: The record of the plan.
        begun: Whether an earlier run has saved and staged everything.

    Raises:
        StalePlanError: It is not there any more: the backup was pruned since the plan was made.
        BackupCorruptError: It is not what was backed up.
    """
    staged = record.child(records.STAGED_OBJECTS)
    copies = [action for action in actions if action.do == "copy"]
    there = staged.find() if copies else {}
    for action in copies:
        checkpoint.require_inside(action.name)
    for action in copies:
        if action.name in there:
            if begun:  # what was written before that was verified
                continue
            staged.delete(action.name)
        if backups is None:
            raise PlanError(f"the plan takes files from {plan.source}, and no backup root was given")
        _copy_verified(action, plan, backups, staged)


def _copy_verified(action: Action, plan: Plan, backups: Store, staged: Store) -> None:
    backups.require_inside(action.source)
    try:
        found = backups.copy(action.source, staged, action.name)
    except CheckpointNotFoundError:
        raise StalePlanError(
            "is not there any more: the backup was pruned since the plan was made.",
            location=backups.location,
            name=action.source,
            batch_id=plan.batch_id,
            hint="Nothing was removed from the checkpoint. Plan again, with another backup.",
        ) from None
    if found != (action.size, action.sha256):
        staged.delete(action.name)
        raise corrupt(backups, action.source, "is not what was backed up")
