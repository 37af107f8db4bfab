"""The beginning of a checkpoint that ``ckpt seed`` has written: two offset entries with the same bytes."""

from __future__ import annotations

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.commit_log import CommitMetadata

#: The commit that a seed writes.
_COMMIT = CommitMetadata(1).encode()


def seeded_batch(view: CheckpointView) -> int | None:
    """The batch after which a checkpoint was seeded, when its first two offset entries are as a seed writes them.

    A seed commits batch N and not N-1, whose offset entry has the bytes of N's. Spark commits N-1 before it plans N,
    and removes old entries of both logs alike. A seed has no state, no watermark and no checksum files. None where the
    entries were not read, or anything is otherwise: then equal entries are copies.
    """
    if len(view.planned) < 2 or not view.committed or view.stateful:
        return None
    before, batch_id = view.planned[:2]
    if before != batch_id - 1 or view.committed[0] != batch_id:
        return None
    names = layout.offset_entry(before), layout.offset_entry(batch_id), layout.commit_entry(batch_id)
    if any(layout.sidecars(name)[2] in view.objects for name in names):
        return None
    first, second, commit = (view.entries[name].encode() if name in view.entries else None for name in names)
    return batch_id if first is not None and first == second and commit == _COMMIT else None
