"""Doubts about the offset entry of a rollback's target: it may differ from the one that its batch ran with."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.sinks.effects import SinkEffect


def doubt(batch_id: int, after: CheckpointView, following: OffsetSeq | None) -> str | None:
    """Why the offset entry of the target may not be the one that its batch ran with; None when nothing says so.

    Args:
        batch_id: The target.
        after: The checkpoint as the rollback would leave it.
        following: The offset entry of the batch after the target, where it can be read.
    """
    name = layout.offset_entry(batch_id)
    for finding in check(after):
        if finding.code in ("CKPT106", "CKPT146"):
            return f"{name} is a copy of an entry before it"
        if finding.code == "CKPT121" and finding.name in layout.sidecars(name):
            return f"{name} was changed after Spark wrote it: it does not match its checksum file"
    own = after.offset_seq(batch_id)
    if following is not None and _is_not_before(own, following):
        return f"{name} is not older than the entry after it, so it may be a copy of a later entry"
    return None


def _is_not_before(entry: OffsetSeq, following: OffsetSeq) -> bool:
    """True if an entry is a copy of a later one. A batch that repartitions has the time of the one before it."""
    if entry.metadata is None or following.metadata is None:
        return False
    then = following.metadata.batch_timestamp_ms
    return 0 < then < entry.metadata.batch_timestamp_ms or entry.encode() == following.encode()


def doubtful(effect: SinkEffect, reason: str) -> SinkEffect:
    """The effect when the entry of the target may not be that of its batch."""
    remedy = "Take the entry from a backup (--to-backup), or compare the rows of the later batches in the sink."
    return replace(effect, effect="unknown", reason=reason, remedy=remedy)


def not_known(effect: SinkEffect, batch_id: int) -> SinkEffect:
    """The effect when the offset entry of the batch is lost, so that nobody can compare it with the backup's."""
    reason = (
        f"the offset entry of batch {batch_id} cannot be read, so the sink may hold other rows for batch {batch_id}"
    )
    return replace(effect, effect="unknown", reason=reason, remedy="Compare the rows of that batch in the sink.")
