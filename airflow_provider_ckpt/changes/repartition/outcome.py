"""Expected result of a repartition, and the check of it."""

from __future__ import annotations

from airflow_provider_ckpt.changes.repartition.refusals import confs_of_batch
from airflow_provider_ckpt.checkpoint.spark_confs import SHUFFLE_PARTITIONS
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import check


def problem_after(view: CheckpointView, batch_id: int, partitions: int) -> str | None:
    """Problem of a checkpoint after its repartition, in words; None when it is as it should be.

    Args:
        view: The checkpoint as it is now, read deeply.
        batch_id: The batch of the repartition.
        partitions: The number of partitions that was asked for.
    """
    if (view.latest_planned, view.latest_committed) != (batch_id, batch_id):
        return (
            f"batch {batch_id} should be the newest in both logs, and {view.latest_planned} is planned, "
            f"{view.latest_committed} committed"
        )
    if view.partitions_of(batch_id) != partitions:
        return f"offsets/{batch_id} says {confs_of_batch(view, batch_id).get(SHUFFLE_PARTITIONS)} partitions"
    before, after = view.offset_seq(batch_id - 1), view.offset_seq(batch_id)
    if dict(before.offsets) != dict(after.offsets):
        return f"offsets/{batch_id} has other offsets of the sources than offsets/{batch_id - 1}"
    if _others(view, batch_id - 1) != _others(view, batch_id):
        return f"offsets/{batch_id} has other confs than offsets/{batch_id - 1}"
    written = view.partitions_written(partitions)
    for operator_id in view.operators:
        if written.get(operator_id) != partitions:
            return f"operator {operator_id} has state in {written.get(operator_id, 0)} partitions of batch {batch_id}"
    error = next((finding for finding in check(view) if finding.severity == "error"), None)
    return f"{error.code}: {error.message.rstrip('.')}" if error is not None else None


def _others(view: CheckpointView, batch_id: int) -> dict[str, str | None]:
    return {key: value for key, value in confs_of_batch(view, batch_id).items() if key != SHUFFLE_PARTITIONS}
