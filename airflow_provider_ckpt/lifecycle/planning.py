"""Making the plans of rollbacks and undos: look, decide, and find what was begun before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.manifest import Manifest
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import BatchNotRestorableError, CheckpointFormatError, PlanError, StalePlanError
from airflow_provider_ckpt.lifecycle import records
from airflow_provider_ckpt.lifecycle.checking import broken_state_files
from airflow_provider_ckpt.lifecycle.exchanging import (
    keeps_batch,
    read_restart_set,
    require_exchangeable,
    require_same_query,
)
from airflow_provider_ckpt.lifecycle.fitting import place_of, require_fit
from airflow_provider_ckpt.lifecycle.judging import find_facts, validate
from airflow_provider_ckpt.lifecycle.lookup import find_backup
from airflow_provider_ckpt.lifecycle.observing import (
    find_restart_set,
    now_ms,
    observe,
    refuse_links,
    restorable_batches,
)
from airflow_provider_ckpt.lifecycle.resolving import backups_hint, resolve
from airflow_provider_ckpt.lifecycle.stores import Stores
from airflow_provider_ckpt.lifecycle.undoing import plan_to_undo
from airflow_provider_ckpt.plans import Plan, SinkVerdict
from airflow_provider_ckpt.requirements import FromBackup
from airflow_provider_ckpt.restart_set import require
from airflow_provider_ckpt.rollback import plan_exchange, plan_rollback
from airflow_provider_ckpt.sink_log import SinkLog
from airflow_provider_ckpt.sink_marker import NOT_DECLARED
from airflow_provider_ckpt.sink_verdicts import rollback_verdict, undo_verdict
from airflow_provider_ckpt.sinks import DeclaredSink, parse_sink, read_file_sink, read_marker
from airflow_provider_ckpt.store import Store
from airflow_provider_ckpt.targets import RollbackTarget, ToBackup, ToBatch, notes_of
from airflow_provider_ckpt.view import CheckpointView

#: A warning.
NO_EXCLUSIVE_CREATE = (
    "This storage cannot create an object exclusively, so the lock is written and read back: "
    "two operators who begin at the very same time may both go on."
)


def make_rollback(
    stores: Stores,
    target: int | RollbackTarget | ToBackup,
    *,
    trim_sink_log: bool = False,
    sink: DeclaredSink | None = None,
    sources: Mapping[str, str] | None = None,
) -> Plan:
    """Plan to drop every batch after the one that a target means, or find the plan of a rollback there that was killed.

    Args:
        stores: Where. In ``stores.backups`` an older batch is looked for when the checkpoint holds none any more.
        target: A batch id, or another :mod:`target <airflow_provider_ckpt.targets>`; ``stores.backups`` is the root of
            a backup that is one.
        trim_sink_log: Remove the dropped batches from the file sink's log as well.
        sink: What ``stores.sink`` is, or a sink that has no place; a file sink when nothing says otherwise.
        sources: Declared types by source id, to count what will be read again.

    Raises:
        BatchNotRestorableError: The batch cannot be gone back to; the error names those that can.
        BackupNotFoundError: No such backup.
        BackupCorruptError: The backup is not complete.
    """
    wish = _Wish(trim_sink_log, sink, sources or {})
    if isinstance(target, ToBackup):
        return _make_rollback_to_backup(stores, target, wish)
    goal = ToBatch(target) if isinstance(target, int) else target
    try:
        return _make_rollback(stores, goal, wish)
    except BatchNotRestorableError as error:
        if stores.backups is not None:
            hint = backups_hint(stores.backups, goal, observe(stores.checkpoint).query_id)
            error.hint = f"{error.hint} {hint}" if error.hint else hint
        raise


@dataclass(frozen=True, slots=True)
class _Wish:
    """What was said about a rollback beside its target; see :func:`make_rollback`."""

    trim_sink_log: bool
    sink: DeclaredSink | None
    sources: Mapping[str, str]


def _make_rollback(stores: Stores, target: RollbackTarget, wish: _Wish) -> Plan:
    checkpoint = stores.checkpoint
    batch_id = resolve(checkpoint, target)
    if (begun := _interrupted(stores, "rollback", lambda plan: plan.batch_id == batch_id)) is not None:
        return begun
    return _fresh_rollback(stores, target, batch_id, wish)


def _fresh_rollback(stores: Stores, target: RollbackTarget, batch_id: int, wish: _Wish) -> Plan:
    checkpoint = stores.checkpoint
    view = observe(checkpoint, deep=True, batch_id=batch_id)
    refuse_links(view)
    chosen = find_restart_set(checkpoint, view, batch_id)
    broken = broken_state_files(view, chosen.names, checkpoint.head, checkpoint.chunks)
    if broken:
        chosen = find_restart_set(checkpoint, view, batch_id, broken)
    if chosen.missing:
        require(chosen, view, restorable_batches(checkpoint, view, batch_id))
    verdict, sink_log = _judge_sink(stores, view, batch_id, wish)
    plan = plan_rollback(view, chosen, now_ms(), (verdict,), sink_log)
    return _told(plan, checkpoint, _notes(view, target, batch_id, view.offset_seq(batch_id), wish.sources))


def _make_rollback_to_backup(stores: Stores, target: ToBackup, wish: _Wish) -> Plan:
    """An ordinary rollback as long as the checkpoint holds all that it needs; else the backup's files come back."""
    checkpoint, root = stores.checkpoint, stores.backups
    if root is None:
        raise PlanError(f"the root {target.root} of the backup was not opened.", location=checkpoint.location)
    wanted = FromBackup(target.backup_id)
    if (begun := _interrupted(stores, "rollback", lambda plan: wanted in plan.requirements)) is not None:
        return begun  # everything was copied before it began: it does not matter whether the backup is there
    backup = find_backup(root, target.backup_id)
    try:
        return _back_to(stores, root, backup, wish)
    except BatchNotRestorableError as error:
        error.hint = error.hint or (
            f"Restore it to a new location and start the query there: ckpt restore {root.location} {backup.backup_id} "
            f"--to {checkpoint.location}-batch-{backup.batch_id} --execute"
        )
        raise


def _back_to(stores: Stores, root: Store, backup: Manifest, wish: _Wish) -> Plan:
    checkpoint, batch_id = stores.checkpoint, backup.batch_id
    if keeps_batch(checkpoint, backup):
        with suppress(BatchNotRestorableError):
            return _make_rollback(stores, ToBatch(batch_id), wish)
    return _exchange(stores, root, backup, wish)


def _exchange(stores: Stores, root: Store, backup: Manifest, wish: _Wish) -> Plan:
    checkpoint, batch_id = stores.checkpoint, backup.batch_id
    view = observe(checkpoint, deep=True)
    refuse_links(view)
    require_same_query(view, backup)
    held, backup = read_restart_set(root, backup)
    require_exchangeable(checkpoint, view, root, backup)
    verdict, sink_log = _judge_sink(stores, view, batch_id, wish)
    plan = plan_exchange(view, backup, root.location, now_ms(), (verdict,), sink_log)
    coming = [action.size for action in plan.actions if action.do == "copy"]
    notes = _notes(view, ToBatch(batch_id), batch_id, held.offset_seq(batch_id), wish.sources)
    note = f"{len(coming)} files, {sum(coming):,} bytes, come back from backup {backup.backup_id}."
    return _told(plan, checkpoint, (*notes, note))


def _judge_sink(stores: Stores, view: CheckpointView, batch_id: int, wish: _Wish) -> tuple[SinkVerdict, SinkLog | None]:
    """What becomes of the sink, and its log when it is to be trimmed."""
    sink_log = _log_to_trim(stores, wish.sink) if wish.trim_sink_log else None
    declared = wish.sink or (DeclaredSink("file", stores.sink.location) if stores.sink else DeclaredSink(""))
    store = stores.sink if declared.directory else None
    marker = read_marker(declared, store, view.query_id, batch_id)
    require_fit(stores.checkpoint, stores.undo, view, declared, store, marker)
    verdict = rollback_verdict(marker, batch_id, view.latest_planned, trimmed=sink_log is not None)
    return replace(verdict, sink=declared.at(store).name), sink_log


def _log_to_trim(stores: Stores, sink: DeclaredSink | None) -> SinkLog:
    if stores.sink is None or (sink is not None and sink.kind != "file"):
        raise PlanError("only a file sink has a log that can be trimmed", hint="Declare it: --sink file:URI.")
    sink_log = read_file_sink(stores.sink)
    links = [name for name in (layout.SINK_LOG, *sink_log.objects) if stores.sink.is_link(name)]
    if links:
        raise PlanError(
            "is a link, so what it leads to is not trimmed.",
            location=stores.sink.location,
            name=links[0],
            hint="Put in its place what it leads to.",
        )
    return sink_log


def _told(plan: Plan, checkpoint: Store, notes: tuple[str, ...] = ()) -> Plan:
    """The plan with what its reader should know of the target and of the storage."""
    warnings = () if checkpoint.creates_exclusively else (NO_EXCLUSIVE_CREATE,)
    return replace(plan, notes=notes, warnings=(*plan.warnings, *warnings))


def _notes(
    view: CheckpointView, target: RollbackTarget, batch_id: int, entry: OffsetSeq, sources: Mapping[str, str]
) -> tuple[str, ...]:
    try:
        newest = view.latest_offset_seq
    except CheckpointFormatError:
        newest = None  # going back from a damaged entry: what was read since cannot be told
    return notes_of(target, batch_id, entry, newest, sources)


def _interrupted(stores: Stores, kind: str, leads_there: Callable[[Plan], bool]) -> Plan | None:
    """A change to the same end that was killed on its way and can still be completed."""
    history = records.history(stores.checkpoint, stores.undo)
    if not history or history[-1].state != "interrupted" or history[-1].plan.kind != kind:
        return None
    plan = history[-1].plan
    if not leads_there(plan):
        return None
    try:
        facts = find_facts(plan, stores, begun=True)
        validate(plan, replace(facts, writer_stopped=True))  # the word is asked for when it is applied
    except StalePlanError:
        return None  # the query has run since; every prefix is a sound checkpoint, so a new plan is right
    return plan


def make_undo(
    stores: Stores, *, sink: DeclaredSink | None = None, opened: Callable[[str], Store] | None = None
) -> Plan:
    """Plan to take back the newest change that is not undone yet.

    What a query has written since is dropped first, and kept in the record of the undo. An undo itself is not undone:
    the rollback that it took back can be done again.

    Args:
        stores: Where.
        sink: The sink of the query, for its effect when there are batches to drop; a file sink when ``stores.sink`` is
            given.
        opened: Opens the sink whose log the change trimmed, when ``stores.sink`` is not given.

    Raises:
        PlanError: There is none, or what it left alone has changed since; the error says what can be done.
        StoreError: Its record is damaged.
    """
    record = records.last_change(stores.checkpoint, stores.undo)
    done = record.plan
    if done.sink and stores.sink is None and opened is not None:
        stores = replace(stores, sink=opened(done.sink))
    if (begun := _interrupted(stores, "undo", lambda plan: plan.undoes == done.plan_id)) is not None:
        return begun
    declared = sink or sink_of(done)
    if not declared.kind and stores.sink is not None:
        declared = DeclaredSink("file", stores.sink.location)
    if stores.sink is None and declared.directory and opened is not None:
        stores = replace(stores, sink=opened(declared.directory))
    return _told(_fresh_undo(record, stores, declared), stores.checkpoint)


def _fresh_undo(record: records.Record, stores: Stores, sink: DeclaredSink) -> Plan:
    undo = plan_to_undo(record, stores)
    verdict = _judge_undo(record, stores, sink, undo.foreign_batches)
    return undo.plan(f"{record.location}/{records.SAVED_OBJECTS}", now_ms(), (verdict,))


def _judge_undo(record: records.Record, stores: Stores, sink: DeclaredSink, foreign: tuple[int, ...]) -> SinkVerdict:
    """What an undo does to the sink, where it can be looked at."""
    done = record.plan
    if sink.directory and stores.sink is None:
        return SinkVerdict(sink.name, "unknown", "nobody has looked at it since the rollback", "Declare it: --sink.")
    store = stores.sink if sink.directory else None
    if done.sink and store is not None and place_of(store) != place_of(store.at(done.sink)):
        raise PlanError(
            f"the rollback {done.plan_id} has trimmed the log of {done.sink}, and not that of {store.location}.",
            location=done.location,
            hint="Nothing was changed. Leave out --sink.",
        )
    marker = read_marker(sink, store, done.query_id, done.batch_id)
    if foreign:
        verdict = rollback_verdict(marker, done.batch_id, foreign[-1], trimmed=bool(done.sink))
    else:
        verdict = undo_verdict(marker, record.from_batch, trimmed=bool(done.sink))
    return replace(verdict, sink=sink.at(store).name)


# --- once more -----------------------------------------------------------------------------------------------------


def sink_of(plan: Plan) -> DeclaredSink:
    """The sink that was declared when a rollback or its undo was planned; of no kind when none was."""
    if declared := sinks_of(plan):
        return declared[0]
    return DeclaredSink("file", plan.sink) if plan.sink else DeclaredSink("")


def sinks_of(plan: Plan) -> tuple[DeclaredSink, ...]:
    """The sinks that were declared when a plan was made."""
    return tuple(parse_sink(item.sink) for item in plan.verdicts if item.sink != NOT_DECLARED)


def plan_again(plan: Plan, stores: Stores) -> Plan:
    """The rollback or the undo that would be planned now in the place of one that was not begun yet.

    Raises what :func:`make_rollback` and :func:`make_undo` raise.
    """
    if plan.kind == "undo":
        record = records.last_change(stores.checkpoint, stores.undo)
        if record.plan.plan_id != plan.undoes:
            raise StalePlanError(
                f"the newest change is {record.plan.plan_id}, and the plan undoes {plan.undoes}.",
                location=plan.location,
                hint="Nothing was done. Plan again.",
            )
        return _fresh_undo(record, stores, sink_of(plan))
    wish = _Wish(bool(plan.sink), sink_of(plan), {})
    wanted = next((item.expected for item in plan.requirements if isinstance(item, FromBackup)), None)
    if wanted is None:
        return _fresh_rollback(stores, ToBatch(plan.batch_id), plan.batch_id, wish)
    if stores.backups is None:
        raise PlanError(f"the root {plan.source} of the backup was not opened.", location=plan.location)
    return _exchange(stores, stores.backups, find_backup(stores.backups, wanted), wish)
