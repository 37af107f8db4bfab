"""Refusing a rollback to a batch before the sources of the query were changed: its entry is that of other sources."""

from __future__ import annotations

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.actions import Replace
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import BatchNotRestorableError, CheckpointNotFoundError
from airflow_provider_ckpt.storage.store import Store


def require_own_sources(stores: Stores, batch_id: int, view: CheckpointView) -> None:
    """Require that the sources of the query were not changed after a batch.

    Args:
        stores: The checkpoint and the other places of the change.
        batch_id: The target.
        view: The checkpoint, with the entries of the target and the newest one.

    Raises:
        BatchNotRestorableError: They were. The entries of that batch and of those before it have other sources, and
            what the sources keep has gone to other places since.
        StoreError: A record of a change is damaged.
    """
    for change in history(stores.checkpoint, stores.undo):
        plan = change.plan
        if plan.kind != "sources" or change.state not in ("applied", "interrupted") or batch_id >= plan.batch_id:
            continue
        if _is_there(stores.checkpoint, plan):
            raise BatchNotRestorableError(
                f"the sources of the query were changed after batch {plan.batch_id} ({plan.plan_id}), and batch "
                f"{batch_id} has those of before.",
                location=stores.checkpoint.location,
                batch_id=batch_id,
                hint=f"Nothing was done. Roll back to batch {plan.batch_id} or a later one. Or undo that change first "
                f"({stores.undo_command}), and start the query with the sources that it had.",
            )
    _require_alike(batch_id, view)


def _require_alike(batch_id: int, view: CheckpointView) -> None:
    """The same by the entries alone, where the record of the change is elsewhere: Spark itself changes neither."""
    kept, newest = (view.readable_offset_seq(batch) for batch in (batch_id, view.latest_planned))
    if kept is None or newest is None:
        return
    now, then = (f"version {entry.version} and {len(entry.offsets)} sources" for entry in (newest, kept))
    if kept.version != newest.version or (kept.version == 1 and len(kept.offsets) != len(newest.offsets)):
        raise BatchNotRestorableError(
            f"the sources of the query were changed since: the newest offset entry has {now}, that of batch {batch_id} "
            f"{then}.",
            location=view.location,
            name=layout.offset_entry(batch_id),
            batch_id=batch_id,
            hint="Nothing was done. Take the change of sources back where its record is (ckpt undo with --undo-to "
            "ROOT), or restore a backup of that batch to a new location (ckpt restore).",
        )


def _is_there(checkpoint: Store, plan: Plan) -> bool:
    """True if the checkpoint has the result of a change, and is not an earlier copy that was put in its place."""
    name = layout.offset_entry(plan.batch_id)
    steps = {action.name: action.data for action in plan.actions if isinstance(action, Replace)}
    try:
        return name not in steps or checkpoint.read_up_to(name, len(steps[name]) * 4 + 1).decode() == steps[name]
    except (CheckpointNotFoundError, UnicodeDecodeError):
        return False
