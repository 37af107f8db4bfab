"""Making the plans of rollbacks: observe, decide, and find what was begun before."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from airflow_provider_ckpt.backup.catalog import LATEST, find_backup, survey_backups
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.verify import require_restorable_backup
from airflow_provider_ckpt.change.actions import Copy
from airflow_provider_ckpt.change.added_errors import require_no_worse
from airflow_provider_ckpt.change.fenced import dropping_fence
from airflow_provider_ckpt.change.judge_start import SourceOf, judge_start, view_after
from airflow_provider_ckpt.change.lock import lock_warnings
from airflow_provider_ckpt.change.open_sinks import sink_of
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.change.record.find_removed import find_removed
from airflow_provider_ckpt.change.record.resume import find_interrupted
from airflow_provider_ckpt.change.requirements import FromBackup
from airflow_provider_ckpt.changes.fence.make import required_fence
from airflow_provider_ckpt.changes.rollback.doubt import doubt
from airflow_provider_ckpt.changes.rollback.exchange_plan import plan_exchange
from airflow_provider_ckpt.changes.rollback.find_bookmarked import find_bookmarked
from airflow_provider_ckpt.changes.rollback.find_resets import Resets, find_resets
from airflow_provider_ckpt.changes.rollback.goal import (
    BeforeDeploy,
    RollbackTarget,
    ToBackup,
    ToBatch,
    committed_later,
    notes_of,
)
from airflow_provider_ckpt.changes.rollback.gone_inputs import without_gone_inputs
from airflow_provider_ckpt.changes.rollback.judge_effects import Wish, entry_after, inputs_after, judge_sink
from airflow_provider_ckpt.changes.rollback.plan import plan_rollback
from airflow_provider_ckpt.changes.rollback.read_backup import (
    compare,
    keeps_batch,
    read_restart_set,
    require_exchangeable,
    require_same_query,
)
from airflow_provider_ckpt.changes.rollback.require_own_sources import require_own_sources
from airflow_provider_ckpt.changes.rollback.resolve import backups_hint, resolve
from airflow_provider_ckpt.checkpoint.find_flows import refuse_replaced
from airflow_provider_ckpt.checkpoint.find_restart_set import operator_names
from airflow_provider_ckpt.checkpoint.observe import observe, refuse_closed, refuse_links
from airflow_provider_ckpt.checkpoint.read_unmoved import read_unmoved
from airflow_provider_ckpt.checkpoint.restart_set import require
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.inspect import find_restorable, find_whole_set
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import (
    BatchNotRestorableError,
    CheckpointFormatError,
    CheckpointNotFoundError,
    PlanError,
)
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.restart.real_time import trigger_of
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.fields import require_flag


def make_rollback(
    stores: Stores,
    target: int | RollbackTarget | ToBackup | BeforeDeploy,
    *,
    trim_sink_log: bool = False,
    sink: Sink | None = None,
    sources: Mapping[str, str] | None = None,
    trigger: str | None = None,
    fenced: bool = False,
) -> Plan:
    """Plan to drop every batch after the one that a target means, or find the plan of a rollback there that was killed.

    Args:
        stores: Where. In ``stores.backups`` an older batch is searched for when the checkpoint holds none any more.
        target: A batch id, or another goal (``changes/rollback/goal.py``); ``stores.backups`` is the root of
            a backup that is one.
        trim_sink_log: Remove the dropped batches from the file sink's log as well.
        sink: What ``stores.sink`` is, or a sink that has no place; a file sink when nothing says otherwise.
        sources: Declared types by source id, to count what will be read again.
        trigger: The trigger of the query as a deploy file says it; ``realTime`` changes what is sure of the sink.
        fenced: Require the fence that is there (``ckpt fence``) in place of the word that the query is stopped.

    Raises:
        PlanError: The target is none.
        BatchNotRestorableError: The batch cannot be restored; the error names the batches that can.
        BackupNotFoundError: No such backup.
        BackupCorruptError: The backup is not complete.
        CheckpointMovedError: The query is running, and removes what was just listed.
    """
    require_flag("trim_sink_log", trim_sink_log)
    require_flag("fenced", fenced)
    wish = Wish(trim_sink_log, sink, sources or {}, trigger or "", fenced=fenced)
    return read_unmoved(lambda: _planned(stores, target, wish), stores.checkpoint, stores.sink)


def _planned(stores: Stores, target: int | RollbackTarget | ToBackup | BeforeDeploy, wish: Wish) -> Plan:
    if isinstance(target, BeforeDeploy):
        wish = replace(wish, note=target.note)
        return _make_rollback_to(stores, find_bookmarked(stores, target.bookmark), wish)
    return _make_rollback_to(stores, target, wish)


def _make_rollback_to(stores: Stores, target: int | RollbackTarget | ToBackup, wish: Wish) -> Plan:
    if isinstance(target, ToBackup):
        return _make_rollback_to_backup(stores, target, wish)
    goal = target if isinstance(target, RollbackTarget) else ToBatch(target)
    if isinstance(goal, ToBatch) and (found := _backup_of(stores, goal.batch_id)) is not None:
        with suppress(BatchNotRestorableError):
            return _make_rollback_to_backup(stores, found, wish)
    try:
        return _make_rollback(stores, goal, wish)
    except BatchNotRestorableError as error:
        if stores.backups is not None:
            hint = backups_hint(stores.backups, goal, observe(stores.checkpoint).query_id)
            error.hint = f"{error.hint} {hint}" if error.hint else hint
        raise


def _backup_of(stores: Stores, batch_id: int) -> ToBackup | None:
    """The newest backup of a batch that a log of the checkpoint still has, whose damaged files it may replace."""
    if stores.backups is None:
        return None
    view = observe(stores.checkpoint)
    if batch_id not in (*view.planned, *view.committed):
        return None
    own = [
        backup
        for backup in survey_backups(stores.backups).backups
        if backup.batch_id == batch_id and view.query_id in (backup.query_id, None)
    ]
    return ToBackup(stores.backups.location, own[-1].backup_id) if own else None


def _make_rollback(stores: Stores, target: RollbackTarget, wish: Wish) -> Plan:
    checkpoint = stores.checkpoint
    batch_id = resolve(checkpoint, target)
    if (interrupted := _interrupted(stores, batch_id, wish)) is not None:
        return interrupted
    return _fresh_rollback(stores, target, _observed(checkpoint, batch_id), batch_id, wish)


def _interrupted(stores: Stores, batch_id: int, wish: Wish) -> Plan | None:
    return find_interrupted(stores, "rollback", lambda plan: plan.batch_id == batch_id, wish.said)


def _observed(checkpoint: Store, batch_id: int) -> CheckpointView:
    """All of a checkpoint that can be changed, with the entries of a batch as far as they are there."""
    view = observe(checkpoint, deep=True, batch_id=batch_id)
    refuse_replaced(checkpoint)
    refuse_links(view)
    refuse_closed(view)
    return view


def _fresh_rollback(stores: Stores, target: RollbackTarget, view: CheckpointView, batch_id: int, wish: Wish) -> Plan:
    checkpoint = stores.checkpoint
    require_own_sources(stores, batch_id, view)
    chosen = find_whole_set(checkpoint, view, batch_id)
    if chosen.missing:
        lacking = [problem.partition(": ")[0] for problem in chosen.missing]
        removed = find_removed(checkpoint, lacking, stores.undo)
        others = find_restorable(checkpoint, view, batch_id).text(checkpoint.location)
        require(chosen, view, f"{removed} {others}".strip())
    wish = replace(wish, trigger=trigger_of(wish.trigger, operator_names(checkpoint, view, batch_id)))
    effect, sink_log = judge_sink(stores, view, batch_id, wish)
    plan = replace(plan_rollback(view, chosen, now_ms(), (effect,), sink_log), trigger=wish.trigger)
    after = view_after(plan, view, checkpoint, chosen=chosen)
    plan = require_no_worse(plan, view, after, hint=_otherwise(checkpoint), error=BatchNotRestorableError)
    if reason := doubt(batch_id, after, entry_after(checkpoint, view, batch_id)):
        plan = replace(plan, effects=(_doubtful(effect, reason),))
    plan = without_gone_inputs(plan, inputs_after(checkpoint, view, batch_id))
    plan = replace(plan, warnings=(*plan.warnings, *committed_later(target, batch_id, view)))
    entry = view.offset_seq(batch_id)
    resets = find_resets(stores, batch_id, entry)
    return _told(plan, stores, _notes(view, target, entry, resets, wish.sources), resets, wish)


def coming_from(root: Store, checkpoint: Store) -> SourceOf:
    """Where the copies of an exchange come from: the root of the backups, or the place that they go back to."""
    return lambda copy: (root, copy.source) if copy.source else (checkpoint, copy.name)


def _otherwise(checkpoint: Store) -> str:
    """What helps where a batch would not do."""
    return (
        "Choose another batch, or take the file from a backup: ckpt rollback "
        f"{shlex.quote(checkpoint.location)} --to-backup ROOT/ID."
    )


def _make_rollback_to_backup(stores: Stores, target: ToBackup, wish: Wish) -> Plan:
    """An ordinary rollback as long as the checkpoint holds all that it needs; else the backup's files come back."""
    checkpoint, root = stores.checkpoint, stores.backups
    if root is None:
        raise PlanError(f"the root {target.root} of the backup was not given to open.", location=checkpoint.location)
    wanted = FromBackup(target.backup_id)
    interrupted = find_interrupted(stores, "rollback", lambda plan: wanted in plan.requirements, wish.said)
    if interrupted is not None:
        return interrupted  # everything was copied before it began: it does not matter whether the backup is there
    own = observe(checkpoint).query_id if target.backup_id == LATEST else None  # a named one may bring the id back
    backup = find_backup(root, target.backup_id, own)
    try:
        return _back_to(stores, root, backup, wish)
    except BatchNotRestorableError as error:
        error.hint = error.hint or (
            f"Restore the backup to a new location, and start the query there: ckpt restore "
            f"{shlex.quote(root.location)} {backup.backup_id} --to "
            f"{shlex.quote(f'{checkpoint.location}-batch-{backup.batch_id}')} --sink TYPE[:URI] --execute"
        )
        raise


def _back_to(stores: Stores, root: Store, backup: Manifest, wish: Wish) -> Plan:
    checkpoint, batch_id = stores.checkpoint, backup.batch_id
    view = _observed(checkpoint, batch_id)
    require_own_sources(stores, batch_id, view)
    if keeps_batch(view, backup, compare(checkpoint, view, backup)):
        if (interrupted := _interrupted(stores, batch_id, wish)) is not None:
            return interrupted
        with suppress(BatchNotRestorableError):
            return _fresh_rollback(stores, ToBatch(batch_id), view, batch_id, wish)
    return _exchange(stores, root, view, backup, wish)


def make_exchange(stores: Stores, root: Store, backup: Manifest, wish: Wish) -> Plan:
    """The steps that make the batch of a backup, for a change that closes the checkpoint around them.

    Raises what :func:`make_rollback` raises.
    """
    return _exchange(stores, root, _observed(stores.checkpoint, backup.batch_id), backup, wish, closed=True)


def _exchange(
    stores: Stores, root: Store, view: CheckpointView, backup: Manifest, wish: Wish, *, closed: bool = False
) -> Plan:
    checkpoint, batch_id = stores.checkpoint, backup.batch_id
    require_restorable_backup(root, backup)
    held, backup = read_restart_set(root, backup)
    compared = compare(checkpoint, view, backup)
    require_same_query(view, backup, compared)
    is_known = require_exchangeable(checkpoint, view, root, backup, compared)
    damaged = {name: error for name, error in view.damaged.items() if name not in held.entries}
    now, view = view, replace(view, entries={**view.entries, **held.entries}, damaged=damaged)
    wish = replace(wish, trigger=trigger_of(wish.trigger, operator_names(checkpoint, view, batch_id)))
    effect, sink_log = judge_sink(stores, view, batch_id, wish)
    effect = effect if is_known else _not_known(effect, batch_id)

    def sha256_of(name: str) -> str:
        return checkpoint.sha256(name)[1]

    plan = plan_exchange(
        view=view,
        backup=backup,
        root=root.location,
        planned_at_ms=now_ms(),
        effects=(effect,),
        sink_log=sink_log,
        replaced=compared.replaced,
        sha256_of=sha256_of,
        closed=closed,
    )
    if not closed:  # else the change around the steps is judged
        plan = judge_start(plan, now, checkpoint, coming_from(root, checkpoint))
    plan = without_gone_inputs(replace(plan, trigger=wish.trigger), inputs_after(checkpoint, view, batch_id))
    coming = [action.size for action in plan.actions if isinstance(action, Copy) and action.source]
    entry = held.offset_seq(batch_id)
    resets = find_resets(stores, batch_id, entry)
    notes = _notes(view, ToBatch(batch_id), entry, resets, wish.sources)
    note = f"{len(coming)} files ({sum(coming):,} bytes) are copied from backup {backup.backup_id}."
    return _told(plan, stores, (*notes, note), resets, wish)


def _doubtful(effect: SinkEffect, reason: str) -> SinkEffect:
    """The effect when the entry of the target may not be that of its batch."""
    remedy = "Take the entry from a backup (--to-backup), or compare the rows of the later batches in the sink."
    return replace(effect, effect="unknown", reason=reason, remedy=remedy)


def _not_known(effect: SinkEffect, batch_id: int) -> SinkEffect:
    """The effect when the offset entry of the batch is lost, so that nobody can compare it with the backup's."""
    reason = (
        f"the offset entry of batch {batch_id} cannot be read, so the sink may hold other rows for batch {batch_id}"
    )
    return replace(effect, effect="unknown", reason=reason, remedy="Compare the rows of that batch in the sink.")


def _told(plan: Plan, stores: Stores, notes: tuple[str, ...], resets: Resets, wish: Wish) -> Plan:
    """The plan with what its reader should know of the target and of the storage; behind the fence, if there is one."""
    warnings = (*plan.warnings, *resets.warnings(), *lock_warnings(stores.checkpoint))
    plan = replace(plan, notes=(*wish.notes, *notes), warnings=warnings)
    return dropping_fence(plan, required_fence(stores)) if wish.fenced else plan


def _notes(
    view: CheckpointView, target: RollbackTarget, entry: OffsetSeq, resets: Resets, sources: Mapping[str, str]
) -> tuple[str, ...]:
    try:
        newest = view.latest_offset_seq if not resets.dropped else None
    except (CheckpointFormatError, CheckpointNotFoundError):
        newest = None  # going back from an entry that is damaged, or came meanwhile: what was read cannot be told
    return notes_of(target, resets.batch_id, entry, newest, sources)


def make_rollback_again(plan: Plan, stores: Stores) -> Plan:
    """The rollback that would be planned now in the place of one that was not begun yet.

    Raises what :func:`make_rollback` raises.
    """
    wish = Wish(bool(plan.sink), sink_of(plan), {}, plan.trigger, fenced=plan.fence is not None)
    if plan.backup_id is None:
        view = _observed(stores.checkpoint, plan.batch_id)
        return _fresh_rollback(stores, ToBatch(plan.batch_id), view, plan.batch_id, wish)
    if stores.backups is None:
        raise PlanError(f"the root {plan.source} of the backup was not given to open.", location=plan.location)
    backup = find_backup(stores.backups, plan.backup_id)
    return _exchange(stores, stores.backups, _observed(stores.checkpoint, backup.batch_id), backup, wish)
