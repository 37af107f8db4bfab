"""The plan of a rollback: drop every batch after one, in place.

It peels one batch at a time, newest first: its commit, then the state that it produced, then its entry in the log of
the sink, then its offsets; entries of source logs go last. Sidecars go before their objects. Each prefix of that is a
checkpoint from which Spark starts correctly, which tests with real Spark show action by action.

When Spark has purged the batch, its files come back from a backup, and what is left of the batches after it is
*exchanged* for them:

1. Every batch is peeled but the oldest that is planned, P. Up to here Spark starts as in any rollback. From here on it
   refuses (``batch P-1 doesn't exist``), so nothing can be mixed into a state, whatever happened since the backup.
2. State and source log entries that the backup does not have go, newest first; then those of the backup that are not
   there come, and its commit.
3. Its two offset entries come, then the commits of later batches go, then what they have in the sink log, and last
   ``offsets/P``. Spark starts after the batch of the backup, with exactly what the backup holds.

When the oldest planned batch comes right after that of the backup, or the batch itself is still planned, Spark may
start at P in step 3: it runs P again on the state of the backup, or stops because the state or the source log entries
of P are gone. Undo goes through the same states backwards.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from airflow_provider_ckpt.actions import Action, Copy, Delete
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.manifest import Manifest
from airflow_provider_ckpt.contents import listed_shortly, unknown_names
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.facts import Place, kept_objects
from airflow_provider_ckpt.objects import StoredObject
from airflow_provider_ckpt.plans import Plan, SinkVerdict, is_offset_entry, main_name
from airflow_provider_ckpt.progress import or_none
from airflow_provider_ckpt.requirements import (
    FromBackup,
    KeptObjects,
    KeptSinkLog,
    LatestCommitted,
    LatestPlanned,
    Requirement,
    SameQuery,
    WriterStopped,
)
from airflow_provider_ckpt.restart_set import RestartSet
from airflow_provider_ckpt.sink_log import SinkLog
from airflow_provider_ckpt.source_files import file_log_offset, file_sources, source_entries, source_log_end
from airflow_provider_ckpt.spans import missing_spans
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
    trims = trimmed_entries(batch_id, sink_log) if sink_log is not None else {}
    actions: list[Action] = [*peel(view, batch_id, trims, sink_log), *source_deletes(view, batch_id)]
    requirements = requirements_of(view, actions, sink_log)
    warnings = (*_in_flight_warnings(view, batch_id), *_source_warnings(view, batch_id), *_unknown_warnings(view))
    warnings += tuple(f"{problem}." for problem in target.unknown)
    return _plan(view, batch_id, planned_at_ms, requirements, actions, warnings, verdicts, sink_log)


def _plan(
    view: CheckpointView,
    batch_id: int,
    planned_at_ms: int,
    requirements: Iterable[Requirement],
    actions: Iterable[Action],
    warnings: Iterable[str],
    verdicts: tuple[SinkVerdict, ...],
    sink_log: SinkLog | None,
    source: str = "",
) -> Plan:
    return Plan(
        "rollback",
        view.location,
        view.query_id or "",
        batch_id,
        planned_at_ms,
        tuple(requirements),
        tuple(actions),
        tuple(warnings),
        verdicts,
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
    """Deletes for each batch after one, newest first: commit, state, sink log, offsets."""
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
    actions: list[Delete] = []
    for batch in sorted({*later, *trims}, reverse=True):
        names = later.get(batch, {})
        for log in (layout.COMMITS, layout.STATE):
            actions += _deletes(view.objects, sorted(names.get(log, [])))
        if sink_log is not None:
            actions += _deletes(sink_log.objects, trims.get(batch, []), "sink")
        actions += _deletes(view.objects, sorted(names.get(layout.OFFSETS, [])))
    return actions


def _deletes(objects: Mapping[str, StoredObject], names: Iterable[str], place: Place = "checkpoint") -> list[Delete]:
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
        actions += _deletes(view.objects, [entries[entry] for entry in past])
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


def _in_flight_warnings(view: CheckpointView, batch_id: int) -> tuple[str, ...]:
    if view.in_flight is None or view.in_flight <= batch_id:
        return ()
    return (f"Batch {view.in_flight} was planned and not committed; it is dropped as well.",)


def _unknown_warnings(view: CheckpointView) -> tuple[str, ...]:
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


# --- from a backup -------------------------------------------------------------------------------------------------

EXCHANGE_WARNING = (
    "On the way there is a stretch in which Spark refuses to start from this checkpoint. Should the rollback be "
    "interrupted there, run the same command again, or undo it."
)


def plan_exchange(
    view: CheckpointView,
    backup: Manifest,
    root: str,
    planned_at_ms: int,
    verdicts: tuple[SinkVerdict, ...] = (),
    sink_log: SinkLog | None = None,
) -> Plan:
    """Go back in place to the batch of a backup, whose files come from there as far as the checkpoint lacks them.

    Args:
        view: The whole checkpoint.
        backup: The backup; its objects are the restart set of its batch, and those that are there already are the same.
        root: Location of the backup root.
        planned_at_ms: Now, epoch milliseconds.
        verdicts: What becomes of the sinks.
        sink_log: The log of the file sink, when the batches are to be removed from it as well.

    Raises:
        BatchNotRestorableError: The checkpoint has gone another way than the backup, or the sink log cannot be trimmed.
    """
    batch_id = backup.batch_id
    _require_later(view, backup)
    copies = _copies(view, backup)
    oldest = min((batch for batch in view.planned if batch > batch_id), default=batch_id)
    trims = trimmed_entries(batch_id, sink_log) if sink_log is not None else {}
    above = {batch: names for batch, names in trims.items() if batch > oldest}
    peeled = peel(view, oldest, above, sink_log)
    actions: list[Action] = [*peeled, *_exchange(view, backup, copies, {action.name for action in peeled})]
    if sink_log is not None:
        below = [name for batch in sorted(trims.keys() - above.keys(), reverse=True) for name in trims[batch]]
        actions += _deletes(sink_log.objects, below, "sink")
    if oldest != batch_id:
        actions += _deletes(view.objects, [layout.offset_entry(oldest)])
    requirements = [*requirements_of(view, actions, sink_log), FromBackup(backup.backup_id)]
    warnings = (*_in_flight_warnings(view, batch_id), *_unknown_warnings(view), EXCHANGE_WARNING)
    return _plan(view, batch_id, planned_at_ms, requirements, actions, warnings, verdicts, sink_log, root)


def _require_later(view: CheckpointView, backup: Manifest) -> None:
    """What is planned and not of the backup comes after its batch, unless that is still planned itself."""
    own = {item.name for item in backup.objects}
    others = [batch for batch in view.planned if layout.offset_entry(batch) not in own]
    if backup.batch_id in view.planned or (others and others[0] > backup.batch_id):
        return
    planned = f"the batches {view.planned[0]} to {view.planned[-1]} are" if view.planned else "no batch is"
    raise BatchNotRestorableError(
        f"{planned} planned here, so batch {backup.batch_id} of the backup is none that was left behind and purged.",
        location=view.location,
        batch_id=backup.batch_id,
    )


def _copies(view: CheckpointView, backup: Manifest) -> list[Copy]:
    """What comes from the backup, in its order: each object before its sidecars."""
    wanted = {item.name for item in backup.objects}
    missing = [item for item in backup.objects if item.name not in view.objects]
    for item in missing:
        orphans = [name for name in layout.sidecars(item.name) if name in view.objects and name not in wanted]
        if orphans:
            raise BatchNotRestorableError(
                "is a checksum file of an object that is gone, and would not fit the one of the backup.",
                location=view.location,
                name=orphans[0],
                batch_id=backup.batch_id,
            )
    return [Copy(item.name, size=item.size, sha256=item.sha256, source=item.stored_at) for item in missing]


def _exchange(view: CheckpointView, backup: Manifest, copies: Iterable[Copy], peeled: Collection[str]) -> list[Action]:
    """What is left of later batches goes and what the backup has comes, but for the last offset entry."""
    kept = {item.name for item in backup.objects} | set(peeled)
    state, sources, commits = [], [], []
    logging = file_sources(view)
    for name in view.objects.keys() - kept:
        match layout.parse(name):
            case layout.StateFile(version=version):
                state.append((version, name))
            case layout.OperatorMetadataFile(_, int(batch)) | layout.StateSchemaFile(_, int(batch)):
                state.append((batch + 1, name))
            case layout.SourceLogEntry(source_id, entry_id) if source_id in logging:
                sources.append((entry_id, name))
            case layout.LogEntry(layout.COMMITS, batch) if batch > backup.batch_id:
                commits.append((batch, name))
    return [
        *_deletes(view.objects, _newest_names(state)),
        *_deletes(view.objects, _newest_names(sources)),
        *sorted(copies, key=lambda action: is_offset_entry(main_name(action.name))),
        *_deletes(view.objects, _newest_names(commits)),
    ]


def _newest_names(numbered: list[tuple[int, str]]) -> list[str]:
    return [name for _, name in sorted(numbered, reverse=True)]
