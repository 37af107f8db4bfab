"""The steps that drop every batch after one, and what they require.

A commit goes first, then the state that its batch produced, then its entry in the log of the sink, then its offsets;
entries of source logs go last, and sidecars before their objects. Each prefix of that leaves a checkpoint from which
Spark starts correctly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from airflow_provider_ckpt.change.plan.actions import Action, Delete
from airflow_provider_ckpt.change.plan.facts import Place, kept_objects, names_after
from airflow_provider_ckpt.change.plan.requirements import (
    KeptObjects,
    KeptSinkLog,
    LatestCommitted,
    LatestPlanned,
    Requirement,
    SameQuery,
    WriterStopped,
)
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.progress import or_none
from airflow_provider_ckpt.checkpoint.source_log_files import file_log_offset, source_entries, source_log_end
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.untrusted.spans import missing_spans


def requirements_of(
    view: CheckpointView, actions: Iterable[Action], sink_log: SinkLog | None, *, last_kept: int | None = None
) -> list[Requirement]:
    """Requirements on unchanged objects for a plan of these actions.

    ``last_kept`` is the newest batch that a plan leaves alone which adds one: later ones are its own.
    """
    touched = {action.spot for action in actions}
    if last_kept is not None:
        touched |= {("checkpoint", name) for name in names_after(view.objects, last_kept)}
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

    A compacted entry past the target can go only when the entries it was made from are still there and, as far as
    they were read, whole.
    """
    _require_whole(batch_id, sink)
    entries = sink.entries
    base = max((entry.batch_id for entry in entries if entry.compact and entry.batch_id <= batch_id), default=-1)
    own = [entry.batch_id for entry in entries if not entry.compact]
    compacted_later = [entry for entry in entries if entry.compact and entry.batch_id > batch_id]
    lost = missing_spans(own, base + 1, batch_id) if compacted_later else ()
    if lost:
        raise BatchNotRestorableError(
            f"the sink log cannot be trimmed to batch {batch_id}: the entry of batch {lost[0].first} is only in "
            f"the compacted file {entries[min(compacted_later, key=lambda entry: entry.batch_id)]}, which also "
            "has later batches.",
            location=sink.location,
            batch_id=batch_id,
            hint="Roll back to a later batch, or rewrite the sink with a new query id.",
        )
    trims: dict[int, list[str]] = {}
    for entry, name in entries.items():
        if entry.batch_id > batch_id:
            trims.setdefault(entry.batch_id, []).append(name)
    return trims


def _require_whole(batch_id: int, sink: SinkLog) -> None:
    for name, error in sink.damaged.items():
        raise BatchNotRestorableError(
            f"the sink log cannot be trimmed to batch {batch_id}: {name} cannot be read ({error.message}), and every "
            "reader of the table would stop there once the compacted entry that holds the batch too is removed.",
            location=sink.location,
            name=name,
            batch_id=batch_id,
            hint="Restore the file from a copy of the table, or roll back to a batch from that compacted entry on.",
        )
