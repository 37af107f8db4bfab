"""The plan of a rollback: drop every batch after one, in place.

It peels one batch at a time, newest first: its commit, then the state that it produced, then its entry in the log of
the sink, then its offsets; entries of source logs go last. Sidecars go before their objects. Each prefix of that is a
checkpoint from which Spark starts correctly, which tests with real Spark show action by action.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from airflow_provider_ckpt.change.actions import Action, Delete
from airflow_provider_ckpt.change.facts import Place, kept_objects
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.change.requirements import (
    KeptObjects,
    KeptSinkLog,
    LatestCommitted,
    LatestPlanned,
    Requirement,
    SameQuery,
    WriterStopped,
)
from airflow_provider_ckpt.checkpoint.contents import listed_shortly, unknown_names
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.progress import or_none
from airflow_provider_ckpt.checkpoint.restart_set import RestartSet
from airflow_provider_ckpt.checkpoint.source_log_files import file_log_offset, source_entries, source_log_end
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.untrusted.spans import missing_spans


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
        effects: What becomes of the sinks (see :mod:`~airflow_provider_ckpt.sinks.change_effects`).
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
    return rollback_plan(view, batch_id, planned_at_ms, requirements, actions, warnings, effects, sink_log)


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
        "rollback",
        view.location,
        view.query_id or "",
        batch_id,
        planned_at_ms,
        tuple(requirements),
        tuple(actions),
        tuple(warnings),
        effects,
        source,
        sink_log.location if sink_log is not None else "",
    )


def requirements_of(view: CheckpointView, actions: Iterable[Action], sink_log: SinkLog | None) -> list[Requirement]:
    """What must not have changed when a plan of these actions is applied."""
    touched = {action.spot for action in actions}
    requirements: list[Requirement] = [
        SameQuery(view.query_id or "none"),
        LatestCommitted(or_none(view.latest_committed)),
        LatestPlanned(or_none(view.latest_planned)),
        KeptObjects(kept_objects(view.objects, (name for place, name in touched if place == "checkpoint"))),
        WriterStopped(),
    ]
    if sink_log is not None:
        trimmed = (name for place, name in touched if place == "sink")
        requirements.append(KeptSinkLog(kept_objects(sink_log.objects, trimmed)))
    return requirements


def peel(view: CheckpointView, batch_id: int, trims: Mapping[int, list[str]], sink_log: SinkLog | None) -> list[Delete]:
    """Deletes for each batch after one, newest first: commit, state, sink log, offsets.

    A checksum file is of its object's batch, also where the object is missing: Spark writes the two beside each other,
    and may be stopped between them.
    """
    later: dict[int, dict[str, list[str]]] = {}
    for name in {layout.main_name(name) for name in view.objects}:
        place = layout.parse(name)
        match place:
            case layout.LogEntry(log, batch) if batch > batch_id:
                later.setdefault(batch, {}).setdefault(log, []).append(name)
            case layout.StateFile(version=version) if version > batch_id + 1:
                later.setdefault(version - 1, {}).setdefault(layout.STATE, []).append(name)
            case layout.OperatorMetadataFile(_, int(batch)) | layout.StateSchemaFile(_, int(batch)):
                if batch > batch_id:
                    later.setdefault(batch, {}).setdefault(layout.STATE, []).append(name)
    actions: list[Delete] = []
    for batch in sorted({*later, *trims}, reverse=True):
        names = later.get(batch, {})
        for log in (layout.COMMITS, layout.STATE):
            actions += deletes_of(view.objects, sorted(names.get(log, [])))
        if sink_log is not None:
            actions += deletes_of(sink_log.objects, trims.get(batch, []), "sink")
        actions += deletes_of(view.objects, sorted(names.get(layout.OFFSETS, [])))
    return actions


def deletes_of(objects: Mapping[str, StoredObject], names: Iterable[str], place: Place = "checkpoint") -> list[Delete]:
    """Delete objects, the sidecars of each before it."""
    return [
        Delete(own, place, objects[own].size, objects[own].identity)
        for name in names
        for own in (*layout.sidecars(name), name)
        if own in objects
    ]


def source_deletes(view: CheckpointView, batch_id: int) -> list[Delete]:
    """Entries of file source logs past the target's offset; left in place they merge files into one batch."""
    actions = []
    for source_id, offset in view.offset_seq(batch_id).offsets:
        log_offset = file_log_offset(view, source_id, offset)
        entries = source_entries(view, source_id)
        if log_offset is None or not entries:
            continue
        end = source_log_end(entries.keys(), log_offset)
        past = sorted((entry for entry in entries if entry.entry_id > end), key=_newest_first)
        actions += deletes_of(view.objects, [entries[entry] for entry in past])
    return actions


def _newest_first(entry: layout.SourceLogEntry) -> tuple[int, bool]:
    return -entry.entry_id, not entry.compact


def trimmed_entries(batch_id: int, sink: SinkLog) -> dict[int, list[str]]:
    """Sink log entries past the target, by batch.

    A compacted entry past the target can go only when the entries it was made from are still there.
    """
    entries = sink.entries
    base = max((entry.batch_id for entry in entries if entry.compact and entry.batch_id <= batch_id), default=-1)
    own = [entry.batch_id for entry in entries if not entry.compact]
    compacted_later = [entry for entry in entries if entry.compact and entry.batch_id > batch_id]
    lost = missing_spans(own, base + 1, batch_id) if compacted_later else ()
    if lost:
        raise BatchNotRestorableError(
            f"the sink log cannot be trimmed to batch {batch_id}: batch {lost[0].first} lives on only inside "
            f"{entries[min(compacted_later, key=lambda entry: entry.batch_id)]}, which holds later batches too.",
            location=sink.location,
            batch_id=batch_id,
            hint="Roll back to a later batch, or rewrite the sink with a new query id.",
        )
    trims: dict[int, list[str]] = {}
    for entry, name in entries.items():
        if entry.batch_id > batch_id:
            trims.setdefault(entry.batch_id, []).append(name)
    return trims


def in_flight_warnings(view: CheckpointView, batch_id: int) -> tuple[str, ...]:
    """What becomes of a batch that is planned and not committed."""
    if view.in_flight is None or view.in_flight <= batch_id:
        return ()
    return (f"Batch {view.in_flight} was planned and not committed; it is dropped as well.",)


def unknown_warnings(view: CheckpointView) -> tuple[str, ...]:
    """What becomes of files that nobody here knows."""
    unknown = unknown_names(view)
    if not unknown:
        return ()
    return (
        f"{len(unknown)} files that ckpt does not know are left as they are: {listed_shortly(unknown)}. "
        "What wrote them (a source, a catalog) does not go back with the query.",
    )


def _source_warnings(view: CheckpointView, batch_id: int) -> tuple[str, ...]:
    warnings = []
    for source_id, offset in view.offset_seq(batch_id).offsets:
        log_offset = file_log_offset(view, source_id, offset)
        entries = source_entries(view, source_id)
        if log_offset is not None and entries and source_log_end(entries.keys(), log_offset) != log_offset:
            warnings.append(
                f"The log of file source {source_id} is compacted past the target: "
                "the files of the dropped batches come back in one batch."
            )
    return tuple(warnings)
