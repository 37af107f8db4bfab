"""Delete what is no part of a table any more: files of attempts that were lost, and what merging replaced."""

from __future__ import annotations

from airflow_provider_ckpt.epochs.manifest import DATA, EPOCHS, Garbage, garbage
from airflow_provider_ckpt.epochs.read import list_places, read_manifests, read_undone
from airflow_provider_ckpt.storage.concurrency import THREADS, in_parallel
from airflow_provider_ckpt.storage.store import Store


def vacuum(table: Store, now_ms: int, *, dry_run: bool = False) -> Garbage:
    """Delete what has been nobody's for a day; streams may write and readers read meanwhile.

    The data is listed before the manifests: a file that is named in between is seen as named.

    Args:
        table: Where the table is.
        now_ms: Epoch milliseconds, by a clock that is right to some hours.
        dry_run: Delete nothing.

    Returns:
        What was deleted, or would be.
    """
    files = {**table.find(DATA), **table.find(EPOCHS)}.values()
    manifests = read_manifests(table, list_places(table))
    found = garbage(manifests, files, now_ms, undone=read_undone(table))  # whither a manifest goes is listed last
    if not dry_run:
        in_parallel(table.delete, found.files, THREADS)
        in_parallel(table.delete, found.manifests, THREADS)  # after what they name
    return found
