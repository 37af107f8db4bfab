"""Rules about what belongs to a stateful operator: what it says of itself, and the ids of its state files."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.checks.logs import newest_commit
from airflow_provider_ckpt.checks.registry import rule
from airflow_provider_ckpt.checks.remedies import from_backup, from_backup_or_before
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.state_metadata import OperatorStateMetadata


@rule("CKPT133")
def ids_of_fewer_partitions(view: CheckpointView) -> Iterator[Finding]:
    """CKPT133: the newest commit names state files of fewer partitions than wrote some."""
    commit, newest = newest_commit(view), view.latest_committed
    if commit is None or not commit.state_unique_ids or newest is None:
        return
    written: dict[int, int] = {}
    for name in view.names_below(layout.STATE):
        place = layout.parse(name)
        if isinstance(place, layout.StateFile) and place.unique_id is not None and place.version == newest + 1:
            operator_id = place.store_id.operator_id
            written[operator_id] = max(written.get(operator_id, 0), place.store_id.partition + 1)
    for operator_id, named in commit.state_unique_ids.items():
        if len(named) < written.get(operator_id, 0):
            yield Finding(
                "CKPT133",
                "error",
                f"{written[operator_id]} partitions of operator {operator_id} wrote state in batch {newest}, and the "
                f"commit names the state files of {len(named)}",
                newest,
                layout.commit_entry(newest),
                spark_error="ArrayIndexOutOfBoundsException",
                **from_backup_or_before(view, "the commit", newest),
            )


@rule("CKPT230")
def metadata_of_another(view: CheckpointView) -> Iterator[Finding]:
    """CKPT230: the directory of an operator has what another operator says of itself, so one is in another's place."""
    for name, entry in sorted(view.entries.items()):
        place = layout.parse(name)
        if not isinstance(entry, OperatorStateMetadata) or not isinstance(place, layout.OperatorMetadataFile):
            continue
        if entry.operator_id != place.operator_id:
            yield Finding(
                "CKPT230",
                "error",
                f"{name} says that it is of operator {entry.operator_id}: where the state was moved with it, Spark "
                "takes the state of one operator for that of another, or stops at its schema",
                None,
                name,
                **from_backup(view, "the checkpoint", why="Give the directories below state their names back."),
            )
