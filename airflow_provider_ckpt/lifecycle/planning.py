"""Making the plans of rollbacks and undos: look, decide, and find what was begun before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from airflow_provider_ckpt.errors import BatchNotRestorableError, CheckpointFormatError, PlanError, StalePlanError
from airflow_provider_ckpt.lifecycle import records
from airflow_provider_ckpt.lifecycle.applying import Found, Stores, validate
from airflow_provider_ckpt.lifecycle.observing import find_restart_set, now_ms, observe, restorable_batches
from airflow_provider_ckpt.lifecycle.resolving import backups_hint, resolve
from airflow_provider_ckpt.plans import Plan, plan_undo
from airflow_provider_ckpt.restart_set import require
from airflow_provider_ckpt.rollback import plan_rollback
from airflow_provider_ckpt.sink_log import SinkLog
from airflow_provider_ckpt.sink_verdicts import rollback_verdict
from airflow_provider_ckpt.sinks import DeclaredSink, read_file_sink, read_marker
from airflow_provider_ckpt.store import Store
from airflow_provider_ckpt.targets import RollbackTarget, ToBatch, notes_of
from airflow_provider_ckpt.view import CheckpointView

#: A warning.
NO_EXCLUSIVE_CREATE = (
    "This storage cannot create an object exclusively, so the lock is written and read back: "
    "two operators who begin at the very same time may both go on."
)


def make_rollback(
    stores: Stores,
    target: int | RollbackTarget,
    *,
    trim_sink_log: bool = False,
    sink: DeclaredSink | None = None,
    sources: Mapping[str, str] | None = None,
    backups: Store | None = None,
) -> Plan:
    """Plan to drop every batch after the one that a target means, or find the plan of a rollback there that was killed.

    Args:
        stores: Where.
        target: A batch id, or another :mod:`target <airflow_provider_ckpt.targets>`.
        trim_sink_log: Remove the dropped batches from the file sink's log as well.
        sink: What ``stores.sink`` is, or a sink that has no place; a file sink when nothing says otherwise.
        sources: Declared types by source id, to count what will be read again.
        backups: A backup root, in which to look for an older batch when the checkpoint holds none any more.

    Raises:
        BatchNotRestorableError: The batch cannot be gone back to; the error names those that can.
    """
    goal = ToBatch(target) if isinstance(target, int) else target
    try:
        return _make_rollback(stores, goal, trim_sink_log, sink, sources or {})
    except BatchNotRestorableError as error:
        if backups is not None:
            hint = backups_hint(backups, goal, observe(stores.checkpoint).query_id)
            error.hint = f"{error.hint} {hint}" if error.hint else hint
        raise


def _make_rollback(
    stores: Stores,
    target: RollbackTarget,
    trim_sink_log: bool,
    sink: DeclaredSink | None,
    sources: Mapping[str, str],
) -> Plan:
    checkpoint = stores.checkpoint
    batch_id = resolve(checkpoint, target)
    if (begun := _interrupted_rollback(stores, batch_id)) is not None:
        return begun
    view = observe(checkpoint, deep=True, batch_id=batch_id)
    chosen = find_restart_set(checkpoint, view, batch_id)
    if chosen.missing:
        require(chosen, view, restorable_batches(checkpoint, view, batch_id))
    sink_log = _log_to_trim(stores, sink) if trim_sink_log else None
    declared = sink or (DeclaredSink("file", stores.sink.location) if stores.sink else DeclaredSink(""))
    marker = read_marker(declared, stores.sink, view.query_id, batch_id)
    verdict = rollback_verdict(marker, batch_id, view.latest_planned, trimmed=sink_log is not None)
    plan = plan_rollback(view, chosen, now_ms(), (verdict,), sink_log)
    return _warned(replace(plan, notes=_notes(view, target, batch_id, sources)), checkpoint)


def _log_to_trim(stores: Stores, sink: DeclaredSink | None) -> SinkLog:
    if stores.sink is None or (sink is not None and sink.kind != "file"):
        raise PlanError("only a file sink has a log that can be trimmed", hint="Declare it: --sink file:URI.")
    return read_file_sink(stores.sink)


def _warned(plan: Plan, checkpoint: Store) -> Plan:
    """The plan with what its reader should know of the storage."""
    if checkpoint.creates_exclusively:
        return plan
    return replace(plan, warnings=(*plan.warnings, NO_EXCLUSIVE_CREATE))


def _notes(view: CheckpointView, target: RollbackTarget, batch_id: int, sources: Mapping[str, str]) -> tuple[str, ...]:
    try:
        newest = view.latest_offset_seq
    except CheckpointFormatError:
        newest = None  # going back from a damaged entry: what was read since cannot be told
    return notes_of(target, batch_id, view.offset_seq(batch_id), newest, sources)


def _interrupted_rollback(stores: Stores, batch_id: int) -> Plan | None:
    """A rollback to the same batch that was killed on its way and can still be completed."""
    history = records.history(stores.checkpoint, stores.undo)
    if not history or history[-1].state != "interrupted" or history[-1].plan.kind != "rollback":
        return None
    plan = history[-1].plan
    if plan.batch_id != batch_id:
        return None
    try:
        validate(plan, Found(stores, plan), begun=True)
    except StalePlanError:
        return None  # the query has run since; every prefix is a sound checkpoint, so a new plan is right
    return plan


def make_undo(stores: Stores) -> Plan:
    """Plan to take back the newest change that is not undone yet. Raises PlanError when there is none."""
    record = records.last_change(stores.checkpoint, stores.undo)
    plan = plan_undo(record.plan, f"{record.location}/{records.SAVED_OBJECTS}", now_ms())
    return _warned(plan, stores.checkpoint)
