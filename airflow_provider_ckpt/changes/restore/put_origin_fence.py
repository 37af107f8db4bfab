"""Fencing the checkpoint that a backup was taken from, before another query goes on from its positions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from airflow_provider_ckpt.backup.catalog import find_backup
from airflow_provider_ckpt.change.fence.plan import fence_of
from airflow_provider_ckpt.change.guard import Tell, silent
from airflow_provider_ckpt.change.option import WAIT_S
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.tell_of_fence import telling_of_fence
from airflow_provider_ckpt.changes.fence.put_fence import put_fence
from airflow_provider_ckpt.storage.store import Store


@contextmanager
def behind_fence_of_origin(
    root: Store,
    plan: Plan,
    opener: Callable[[str], Store],
    *,
    by: str = "",
    wait_s: float = WAIT_S,
    tell: Tell = silent,
) -> Iterator[None]:
    """Fence the checkpoint from which the backup of a restore was taken; a refusal inside says that the fence stays.

    Args:
        root: Location of the backup root.
        plan: The plan of the restore.
        opener: Opens a location.
        by: Name of the person or the task that makes the change, for ``ckpt history``.
        wait_s: Seconds to wait for the commit of the batch in flight.
        tell: Told what is being waited for, and where the fence is.

    Raises what :func:`~airflow_provider_ckpt.changes.fence.put_fence.put_fence` raises.
    """
    origin = opener(find_backup(root, plan.backup_id or "").location)
    stores = Stores(origin)
    fence, receipt = put_fence(stores, by=by, wait_s=wait_s, tell=tell)
    tell(
        f"{origin.location}, which the backup was taken from, is fenced behind batch {receipt.batch_id}, and stays so. "
        f"This takes the fence back: {stores.undo_command}"
    )
    with telling_of_fence(stores, fence_of(fence).name):
        yield
