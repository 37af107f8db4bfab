"""The plan of a repartition: one step that Spark takes, and for a file sink one more that fills the hole in its log.

Spark plans a batch, writes all state anew as that of the batch, and commits it. From the first of these to the last,
Spark 4.2 and later refuses to start the query. The batch is none of the sink's; a file sink that has no entry of it
stops at its next compaction, so an entry that names no file is added, after the commit.
"""

from __future__ import annotations

from airflow_provider_ckpt.change.plan.actions import Action, Create, Repartition
from airflow_provider_ckpt.change.plan.later_batches import requirements_of
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.repartition.refusals import half_done
from airflow_provider_ckpt.checkpoint.contents import listed_shortly, unknown_names
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.sinks.effects import SinkEffect

#: An entry of a file sink's log that names no file, as Spark writes it for a batch without rows.
_EMPTY_ENTRY = "v1"


def plan_repartition(
    view: CheckpointView, partitions: int, planned_at_ms: int, effect: SinkEffect, sink_log: SinkLog | None = None
) -> Plan:
    """Give the state another number of partitions.

    Args:
        view: The whole checkpoint, of which ``require_repartitionable`` has approved.
        partitions: The number.
        planned_at_ms: Now, epoch milliseconds.
        effect: Effect on the sink.
        sink_log: The log of the file sink.

    Raises:
        PlanError: The log of the file sink has to be compacted at this very batch.
    """
    kept = view.latest_committed
    assert kept is not None
    batch_id = kept + 1
    actions: list[Action] = [Repartition(layout.commit_entry(batch_id), partitions=partitions)]
    if sink_log is not None:
        actions.append(_entry_of(sink_log, batch_id, view.location))
    return Plan(
        kind="repartition",
        location=view.location,
        query_id=view.query_id or "",
        batch_id=batch_id,
        planned_at_ms=planned_at_ms,
        requirements=tuple(requirements_of(view, actions, sink_log, last_kept=kept)),
        actions=tuple(actions),
        warnings=_warnings(view, batch_id),
        effects=(effect,),
        sink=sink_log.location if sink_log is not None else "",
        notes=(_note(view, kept, partitions),),
    )


def _note(view: CheckpointView, kept: int, partitions: int) -> str:
    stores = ", ".join(
        f"{operator.operator_name} (operator {operator_id})" for operator_id, operator in view.operators.items()
    )
    return (
        f"Batch {kept + 1} writes the state of batch {kept} again, in {partitions} partitions instead of "
        f"{view.partitions_of(kept)}: {stores}. It reads no input."
    )


def _warnings(view: CheckpointView, batch_id: int) -> tuple[str, ...]:
    told = [
        f"Until batch {batch_id} is committed, Spark 4.2 and later refuses to start the query "
        "(STREAMING_UNFINISHED_REPARTITION_DETECTED), and an earlier Spark must not start it. Should the repartition "
        "be interrupted there, run the same command again, or undo it."
    ]
    if half_done(view) is not None:
        told.insert(0, f"Batch {batch_id} is such a repartition that was begun and not finished: it is finished.")
    if unknown := unknown_names(view):
        told.append(f"{len(unknown)} files that ckpt does not know are left as they are: {listed_shortly(unknown)}.")
    return tuple(told)


def _entry_of(sink_log: SinkLog, batch_id: int, location: str) -> Create:
    """The entry of the batch in the log of a file sink. Raises PlanError when that entry would compact the log."""
    if sink_log.next_compaction(batch_id) == batch_id:
        raise PlanError(
            f"the batch of the repartition would be {batch_id}, at which the file sink {sink_log.location} compacts "
            "its log: an entry with all files of the log would be needed, which only the query writes.",
            location=location,
            batch_id=batch_id,
            hint="Nothing was done. Let the query run one more batch, stop it, and repartition then.",
        )
    return Create(f"{layout.SINK_LOG}/{batch_id}", "sink", _EMPTY_ENTRY)
