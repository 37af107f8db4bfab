"""Making the steps of a rollback: later batches go, and where the checkpoint lacks files those of a backup come."""

from __future__ import annotations

import shlex
from dataclasses import replace

from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.verify import require_restorable_backup
from airflow_provider_ckpt.change.added_errors import require_no_worse
from airflow_provider_ckpt.change.judge_start import SourceOf, judge_start, view_after
from airflow_provider_ckpt.change.make_plan import Seen
from airflow_provider_ckpt.change.plan.actions import Copy
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.find_removed import find_removed
from airflow_provider_ckpt.change.record.resume import Said
from airflow_provider_ckpt.changes.rollback.doubt import doubt, doubtful, not_known
from airflow_provider_ckpt.changes.rollback.exchange_plan import plan_exchange
from airflow_provider_ckpt.changes.rollback.gone_inputs import without_gone_inputs
from airflow_provider_ckpt.changes.rollback.judge_effects import entry_after, inputs_after, judge_sink
from airflow_provider_ckpt.changes.rollback.plan import plan_rollback
from airflow_provider_ckpt.changes.rollback.read_backup import (
    compare,
    read_restart_set,
    require_exchangeable,
    require_same_query,
)
from airflow_provider_ckpt.changes.rollback.require_own_sources import require_own_sources
from airflow_provider_ckpt.checkpoint.find_restart_set import operator_names
from airflow_provider_ckpt.checkpoint.restart_set import require
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.inspect import find_restorable, find_whole_set
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.restart.real_time import trigger_of
from airflow_provider_ckpt.storage.store import Store


def drop_later(seen: Seen, batch_id: int, *, fenced: bool) -> Plan:
    """Drop every batch after one of which the checkpoint holds all that a restart reads.

    Raises BatchNotRestorableError when it does not.
    """
    view, checkpoint = seen.view, seen.checkpoint
    require_own_sources(seen.stores, batch_id, view)
    chosen = find_whole_set(checkpoint, view, batch_id)
    if chosen.missing:
        lacking = [problem.partition(": ")[0] for problem in chosen.missing]
        removed = find_removed(checkpoint, lacking, seen.stores.undo)
        others = find_restorable(checkpoint, view, batch_id).text(checkpoint.location)
        require(chosen, view, f"{removed} {others}".strip())
    said = _said(seen, batch_id)
    effect, sink_log = judge_sink(seen.stores, view, batch_id, said, fenced=fenced)
    plan = replace(plan_rollback(view, chosen, now_ms(), (effect,), sink_log), trigger=said.trigger or "")
    after = view_after(plan, view, checkpoint, chosen=chosen)
    hint = (
        "Choose another batch, or take the file from a backup: ckpt rollback "
        f"{shlex.quote(checkpoint.location)} --to-backup ROOT/ID."
    )
    plan = require_no_worse(plan, view, after, hint=hint, error=BatchNotRestorableError)
    if reason := doubt(batch_id, after, entry_after(checkpoint, view, batch_id)):
        plan = replace(plan, effects=(doubtful(effect, reason),))
    return without_gone_inputs(plan, inputs_after(checkpoint, view, batch_id))


def exchange(seen: Seen, own: Manifest, *, fenced: bool, closed: bool) -> tuple[Plan, OffsetSeq, CheckpointView]:
    """Remove what differs from a backup, and bring its files, as far as the checkpoint lacks them.

    Args:
        seen: The checkpoint, with the entries of the batch as far as it has them, and the root of the backup.
        own: The backup.
        fenced: True behind a fence.
        closed: True if the checkpoint is closed around the steps by the change that they are for, which is judged.

    Returns:
        The plan, the offset entry of the batch, and the checkpoint with its entries from the backup.
    """
    checkpoint, batch_id, root = seen.checkpoint, own.batch_id, seen.stores.backups
    assert root is not None
    require_restorable_backup(root, own)
    held, backup = read_restart_set(root, own)
    compared = compare(checkpoint, seen.view, backup)
    require_same_query(seen.view, backup, compared)
    is_known = require_exchangeable(checkpoint, seen.view, root, backup, compared)
    damaged = {name: error for name, error in seen.view.damaged.items() if name not in held.entries}
    view = replace(seen.view, entries={**seen.view.entries, **held.entries}, damaged=damaged)
    said = _said(replace(seen, view=view), batch_id)
    effect, sink_log = judge_sink(seen.stores, view, batch_id, said, fenced=fenced)
    plan = plan_exchange(
        view=view,
        backup=backup,
        root=root.location,
        planned_at_ms=now_ms(),
        effects=(effect if is_known else not_known(effect, batch_id),),
        sink_log=sink_log,
        replaced=compared.replaced,
        sha256_of=lambda name: checkpoint.sha256(name)[1],
        closed=closed,
    )
    if not closed:
        plan = judge_start(plan, seen.view, checkpoint, coming_from(root, checkpoint))
    plan = replace(plan, trigger=said.trigger or "")
    plan = without_gone_inputs(plan, inputs_after(checkpoint, view, batch_id))
    coming = [action.size for action in plan.actions if isinstance(action, Copy) and action.source]
    note = f"{len(coming)} files ({sum(coming):,} bytes) are copied from backup {backup.backup_id}."
    return replace(plan, notes=(note,)), held.offset_seq(batch_id), view


def coming_from(root: Store, checkpoint: Store) -> SourceOf:
    """Where the copies of an exchange come from: the root of the backups, or the place that they go back to."""
    return lambda copy: (root, copy.source) if copy.source else (checkpoint, copy.name)


def _said(seen: Seen, batch_id: int) -> Said:
    """What was said, with the trigger that the operators tell."""
    trigger = trigger_of(seen.said.trigger, operator_names(seen.checkpoint, seen.view, batch_id))
    return replace(seen.said, trigger=trigger)
