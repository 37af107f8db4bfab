"""The plan of a rollback: drop every batch after one, in place.

The steps are those of :mod:`~airflow_provider_ckpt.change.plan.later_batches`, newest batch first. Each prefix of them
leaves a checkpoint from which Spark starts correctly, which tests with real Spark show action by action.
"""

from __future__ import annotations

from collections.abc import Iterable

from airflow_provider_ckpt.change.plan.actions import Action
from airflow_provider_ckpt.change.plan.later_batches import peel, requirements_of, source_deletes, trimmed_entries
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.plan.requirements import Requirement
from airflow_provider_ckpt.checkpoint.contents import listed_shortly, unknown_names
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.restart_set import RestartSet
from airflow_provider_ckpt.checkpoint.source_log_files import file_log_offset, source_entries, source_log_end
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.sinks.effects import SinkEffect


def plan_rollback(
    view: CheckpointView,
    target: RestartSet,
    planned_at_ms: int,
    effects: tuple[SinkEffect, ...] = (),
    sink_log: SinkLog | None = None,
) -> Plan:
    """Drop every batch after ``target.batch_id`` in place.

    Args:
        view: The whole checkpoint.
        target: The complete restart set of the target batch (see ``restart_set.require``).
        planned_at_ms: Now, epoch milliseconds.
        effects: Effects on the sinks (see :mod:`~airflow_provider_ckpt.sinks.change_effects`).
        sink_log: The log of the file sink, when the batches are to be removed from it as well.

    Raises:
        BatchNotRestorableError: The sink log is to be trimmed and its compacted entries cannot be split.
    """
    batch_id = target.batch_id
    trims = trimmed_entries(batch_id, sink_log) if sink_log is not None else {}
    actions: list[Action] = [*peel(view, batch_id, trims, sink_log), *source_deletes(view, batch_id)]
    requirements = requirements_of(view, actions, sink_log)
    warnings = (*in_flight_warnings(view, batch_id), *_source_warnings(view, batch_id), *unknown_warnings(view))
    warnings += tuple(f"{problem}." for problem in target.unknown)
    return rollback_plan(
        view=view,
        batch_id=batch_id,
        planned_at_ms=planned_at_ms,
        requirements=requirements,
        actions=actions,
        warnings=warnings,
        effects=effects,
        sink_log=sink_log,
    )


def rollback_plan(
    view: CheckpointView,
    batch_id: int,
    planned_at_ms: int,
    requirements: Iterable[Requirement],
    actions: Iterable[Action],
    warnings: Iterable[str],
    effects: tuple[SinkEffect, ...],
    sink_log: SinkLog | None,
    source: str = "",
) -> Plan:
    """The plan of a rollback, by its parts."""
    return Plan(
        kind="rollback",
        location=view.location,
        query_id=view.query_id or "",
        batch_id=batch_id,
        planned_at_ms=planned_at_ms,
        requirements=tuple(requirements),
        actions=tuple(actions),
        warnings=tuple(warnings),
        effects=effects,
        source=source,
        sink=sink_log.location if sink_log is not None else "",
    )


def in_flight_warnings(view: CheckpointView, batch_id: int) -> tuple[str, ...]:
    """Warning that a batch which is planned and not committed is dropped."""
    if view.in_flight is None or view.in_flight <= batch_id:
        return ()
    return (f"Batch {view.in_flight} is in flight (planned, not committed); it is dropped too.",)


def unknown_warnings(view: CheckpointView) -> tuple[str, ...]:
    """Warnings about unknown files, and about checkpoints of other queries."""
    told = []
    if unknown := unknown_names(view):
        told.append(
            f"{len(unknown)} files that ckpt does not know are not changed: {listed_shortly(unknown)}. The program "
            "that wrote them (a source, a catalog) is not rolled back with the query."
        )
    if view.inside:
        told.append(
            f"Checkpoints of other queries are inside this one, and are not changed: {listed_shortly(view.inside)}."
        )
    return tuple(told)


def _source_warnings(view: CheckpointView, batch_id: int) -> tuple[str, ...]:
    warnings = []
    for source_id, offset in view.offset_seq(batch_id).offsets:
        log_offset = file_log_offset(view, source_id, offset)
        entries = source_entries(view, source_id)
        if log_offset is not None and entries and source_log_end(entries.keys(), log_offset) != log_offset:
            warnings.append(
                f"The log of file source {source_id} was compacted after the target batch, so the next batch reads "
                "all files of the dropped batches at once."
            )
    return tuple(warnings)
