"""The plan of a rollback: drop every batch after one, in place.

It peels one batch at a time, newest first: its commit, then the state that it produced, then its entry in the log of
the sink, then its offsets; entries of source logs go last. Sidecars go before their objects. Each prefix of that is a
checkpoint from which Spark starts correctly, which tests with real Spark show action by action.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.objects import StoredObject
from airflow_provider_ckpt.plans import Action, Place, Plan, Requirement, SinkVerdict, kept_objects, or_none
from airflow_provider_ckpt.restart_set import RestartSet
from airflow_provider_ckpt.sink_log import SinkLog
from airflow_provider_ckpt.source_files import file_log_offset, source_entries, source_log_end
from airflow_provider_ckpt.view import CheckpointView


def plan_rollback(
    view: CheckpointView,
    target: RestartSet,
    planned_at_ms: int,
    verdicts: tuple[SinkVerdict, ...] = (),
    sink_log: SinkLog | None = None,
) -> Plan:
    """Drop every batch after ``target.batch_id`` in place.

    Args:
        view: The whole checkpoint.
        target: The complete restart set of the target batch (see :func:`~airflow_provider_ckpt.restart_set.require`).
        planned_at_ms: Now, epoch milliseconds.
        verdicts: What becomes of the sinks (see :mod:`~airflow_provider_ckpt.sink_verdicts`).
        sink_log: The log of the file sink, when the batches are to be removed from it as well.

    Raises:
        BatchNotRestorableError: The sink log is to be trimmed and its compacted entries cannot be split.
    """
    batch_id = target.batch_id
    peeled = _peel(view, batch_id, sink_log)
    deletes = [*peeled, *_source_deletes(view, batch_id)]
    touched = {action.name for action in deletes if action.place == "checkpoint"}
    requirements = [
        Requirement("query_id", view.query_id or "none"),
        Requirement("latest_committed", or_none(view.latest_committed)),
        Requirement("latest_planned", or_none(view.latest_planned)),
        Requirement("kept_objects", kept_objects(view.objects, touched)),
        Requirement("writer_stopped", "yes"),
    ]
    if sink_log is not None:
        trimmed = {action.name for action in deletes if action.place == "sink"}
        requirements.append(Requirement("kept_sink_log", kept_objects(sink_log.objects, trimmed)))
    return Plan(
        "rollback",
        view.location,
        view.query_id or "",
        batch_id,
        planned_at_ms,
        tuple(requirements),
        tuple(deletes),
        _rollback_warnings(view, batch_id),
        verdicts,
        sink=sink_log.location if sink_log is not None else "",
    )


def _peel(view: CheckpointView, batch_id: int, sink_log: SinkLog | None) -> list[Action]:
    """Deletes for each batch after the target, newest first: commit, state, sink log, offsets."""
    later: dict[int, dict[str, list[str]]] = {}
    for name in view.objects:
        place = layout.parse(name)
        match place:
            case layout.LogEntry(log, batch) if batch > batch_id:
                later.setdefault(batch, {}).setdefault(log, []).append(name)
            case layout.StateFile(version=version) if version > batch_id + 1:
                later.setdefault(version - 1, {}).setdefault(layout.STATE, []).append(name)
            case layout.OperatorMetadataFile(_, int(batch)) | layout.StateSchemaFile(_, int(batch)):
                if batch > batch_id:
                    later.setdefault(batch, {}).setdefault(layout.STATE, []).append(name)
    trims = _trimmed_entries(batch_id, sink_log) if sink_log is not None else {}
    actions: list[Action] = []
    for batch in sorted({*later, *trims}, reverse=True):
        names = later.get(batch, {})
        for log in (layout.COMMITS, layout.STATE):
            actions += _deletes(view.objects, sorted(names.get(log, [])))
        if sink_log is not None:
            actions += _deletes(sink_log.objects, trims.get(batch, []), "sink")
        actions += _deletes(view.objects, sorted(names.get(layout.OFFSETS, [])))
    return actions


def _deletes(objects: Mapping[str, StoredObject], names: Iterable[str], place: Place = "checkpoint") -> list[Action]:
    """Delete objects, the sidecars of each before it."""
    return [
        Action("delete", own, place, objects[own].size, objects[own].identity)
        for name in names
        for own in (*layout.sidecars(name), name)
        if own in objects
    ]


def _source_deletes(view: CheckpointView, batch_id: int) -> list[Action]:
    """Entries of file source logs past the target's offset; left in place they merge files into one batch."""
    actions = []
    for source_id, offset in view.offset_seq(batch_id).offsets:
        log_offset = None if offset is None else file_log_offset(offset.json)
        entries = source_entries(view, source_id)
        if log_offset is None or not entries:
            continue
        end = source_log_end(entries.keys(), log_offset)
        past = sorted((entry for entry in entries if entry.entry_id > end), key=_newest_first)
        actions += _deletes(view.objects, [entries[entry] for entry in past])
    return actions


def _newest_first(entry: layout.SourceLogEntry) -> tuple[int, bool]:
    return -entry.entry_id, not entry.compact


def _trimmed_entries(batch_id: int, sink: SinkLog) -> dict[int, list[str]]:
    """Sink log entries past the target, by batch.

    A compacted entry past the target can go only when the entries it was made from are still there.
    """
    entries = sink.entries
    base = max((entry.batch_id for entry in entries if entry.compact and entry.batch_id <= batch_id), default=-1)
    own = {entry.batch_id for entry in entries if not entry.compact}
    compacted_later = [entry for entry in entries if entry.compact and entry.batch_id > batch_id]
    lost = [batch for batch in range(base + 1, batch_id + 1) if batch not in own] if compacted_later else []
    if lost:
        raise BatchNotRestorableError(
            f"the sink log cannot be trimmed to batch {batch_id}: batch {lost[0]} lives on only inside "
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


def _rollback_warnings(view: CheckpointView, batch_id: int) -> tuple[str, ...]:
    warnings = []
    if view.in_flight is not None and view.in_flight > batch_id:
        warnings.append(f"Batch {view.in_flight} was planned and not committed; it is dropped as well.")
    for source_id, offset in view.offset_seq(batch_id).offsets:
        log_offset = None if offset is None else file_log_offset(offset.json)
        entries = source_entries(view, source_id)
        if log_offset is not None and entries and source_log_end(entries.keys(), log_offset) != log_offset:
            warnings.append(
                f"The log of file source {source_id} is compacted past the target: "
                "the files of the dropped batches come back in one batch."
            )
    return tuple(warnings)
