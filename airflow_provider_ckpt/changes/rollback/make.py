"""Making the plans of rollbacks: to a batch whose files the checkpoint holds, or with those of a backup."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypedDict

from airflow_provider_ckpt.backup.catalog import LATEST, find_backup, survey_backups
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.verify import require_restorable_backup
from airflow_provider_ckpt.change.added_errors import require_no_worse
from airflow_provider_ckpt.change.executor import InPlace
from airflow_provider_ckpt.change.fence.find import required_fence
from airflow_provider_ckpt.change.find_repeated import repeated_warnings
from airflow_provider_ckpt.change.judge_start import SourceOf, judge_start, view_after
from airflow_provider_ckpt.change.make_plan import Planner, Seen, find_begun, make_anew, observe_whole
from airflow_provider_ckpt.change.open_sinks import sink_of
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.actions import Copy
from airflow_provider_ckpt.change.plan.fenced import dropping_fence
from airflow_provider_ckpt.change.plan.kinds import Kind
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.plan.requirements import FromBackup
from airflow_provider_ckpt.change.record.find_removed import find_removed
from airflow_provider_ckpt.change.record.resume import Said, find_interrupted
from airflow_provider_ckpt.changes.rollback.doubt import doubt
from airflow_provider_ckpt.changes.rollback.exchange_plan import plan_exchange
from airflow_provider_ckpt.changes.rollback.find_bookmarked import find_bookmarked
from airflow_provider_ckpt.changes.rollback.find_resets import find_resets
from airflow_provider_ckpt.changes.rollback.goal import (
    BeforeDeploy,
    RollbackTarget,
    ToBackup,
    ToBatch,
    committed_later,
    notes_of,
)
from airflow_provider_ckpt.changes.rollback.gone_inputs import without_gone_inputs
from airflow_provider_ckpt.changes.rollback.judge_effects import entry_after, inputs_after, judge_sink
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
from airflow_provider_ckpt.checkpoint.find_restart_set import operator_names
from airflow_provider_ckpt.checkpoint.observe import observe
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
        sink: The sink at ``stores.sink``, or a sink that has no place; a file sink when nothing says otherwise.
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
    own: _Own = {"said": Said(sink, trigger, trim_sink_log), "sources": sources or {}, "fenced": fenced}
    return read_unmoved(lambda: _found_or_made(stores, target, own), stores.checkpoint, stores.sink)


class _Own(TypedDict, total=False):
    """What each way back is asked with; see :class:`_Back`."""

    said: Said
    sources: Mapping[str, str]
    fenced: bool
    note: str


# --- the ways back -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Back(Planner):
    """The batch that a checkpoint goes back to.

    Args:
        sources: Declared types by source id, to count what will be read again.
        note: How the target was found, for who reads a plan that is made now; one that was begun keeps its own.
    """

    kind: ClassVar[Kind] = "rollback"
    sources: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    @classmethod
    def of(cls, plan: Plan, stores: Stores) -> Planner:
        """The same batch, or the same backup."""
        said = Said(sink_of(plan), plan.trigger, bool(plan.sink))
        own: _Own = {"said": said, "fenced": plan.fence is not None}
        if plan.backup_id is None:
            return WithOwnFiles(ToBatch(plan.batch_id), plan.batch_id, **own)
        if stores.backups is None:
            raise PlanError(f"the root {plan.source} of the backup was not given to open.", location=plan.location)
        return WithBackup(stores.backups, find_backup(stores.backups, plan.backup_id), **own)

    def judge(self, plan: Plan, seen: Seen) -> Plan:
        """What the batch would do is judged before the effects and warnings that rest on it."""
        return plan

    def _said(self, seen: Seen, batch_id: int) -> Said:
        """What was said, with the trigger that the operators tell."""
        trigger = trigger_of(self.said.trigger, operator_names(seen.checkpoint, seen.view, batch_id))
        return replace(self.said, trigger=trigger)

    def _told(
        self, plan: Plan, seen: Seen, target: RollbackTarget, entry: OffsetSeq, view: CheckpointView, *more: str
    ) -> Plan:
        """The plan with what its reader should know of the target; behind the fence, if there is one."""
        resets = find_resets(seen.stores, plan.batch_id, entry)
        try:
            newest = view.latest_offset_seq if not resets.dropped else None
        except (CheckpointFormatError, CheckpointNotFoundError):
            newest = None  # going back from an entry that is damaged, or came meanwhile: what was read cannot be told
        notes = (*filter(None, [self.note]), *notes_of(target, resets.batch_id, entry, newest, self.sources), *more)
        plan = replace(plan, notes=notes, warnings=(*plan.warnings, *resets.warnings()))
        return dropping_fence(plan, required_fence(seen.stores)) if self.fenced else plan


@dataclass(frozen=True, slots=True)
class WithOwnFiles(_Back):
    """A batch of which the checkpoint holds all that a restart reads."""

    target: RollbackTarget
    batch_id: int

    def is_met_by(self, plan: Plan) -> bool:
        """The batch is the end."""
        return plan.batch_id == self.batch_id

    def observe(self, stores: Stores) -> CheckpointView:
        """The checkpoint with the entries of the batch."""
        return observe_whole(stores.checkpoint, self.batch_id)

    def decide(self, seen: Seen) -> Plan:
        """Every later batch goes."""
        view, checkpoint, batch_id = seen.view, seen.checkpoint, self.batch_id
        require_own_sources(seen.stores, batch_id, view)
        chosen = find_whole_set(checkpoint, view, batch_id)
        if chosen.missing:
            lacking = [problem.partition(": ")[0] for problem in chosen.missing]
            removed = find_removed(checkpoint, lacking, seen.stores.undo)
            others = find_restorable(checkpoint, view, batch_id).text(checkpoint.location)
            require(chosen, view, f"{removed} {others}".strip())
        said = self._said(seen, batch_id)
        effect, sink_log = judge_sink(seen.stores, view, batch_id, said, fenced=self.fenced)
        plan = replace(plan_rollback(view, chosen, now_ms(), (effect,), sink_log), trigger=said.trigger or "")
        after = view_after(plan, view, checkpoint, chosen=chosen)
        plan = require_no_worse(plan, view, after, hint=_otherwise(checkpoint), error=BatchNotRestorableError)
        if reason := doubt(batch_id, after, entry_after(checkpoint, view, batch_id)):
            plan = replace(plan, effects=(_doubtful(effect, reason),))
        plan = without_gone_inputs(plan, inputs_after(checkpoint, view, batch_id))
        plan = replace(plan, warnings=(*plan.warnings, *committed_later(self.target, batch_id, view)))
        return _with_repeated(self._told(plan, seen, self.target, view.offset_seq(batch_id), view), seen)


@dataclass(frozen=True, slots=True)
class WithBackup(_Back):
    """The batch of a backup, whose files come from there as far as the checkpoint lacks them.

    Args:
        root: Location of the backup root.
        backup: Which one.
        is_closed: Whether the checkpoint is closed around the steps by the change that they are for, which is judged.
    """

    root: Store
    backup: Manifest
    is_closed: bool = False

    def is_met_by(self, plan: Plan) -> bool:
        """The backup is the end."""
        return FromBackup(self.backup.backup_id) in plan.requirements

    def observe(self, stores: Stores) -> CheckpointView:
        """The checkpoint with the entries of the batch, as far as it has them."""
        return observe_whole(stores.checkpoint, self.backup.batch_id)

    def decide(self, seen: Seen) -> Plan:
        """What differs from the backup goes, and its files come."""
        checkpoint, batch_id, root = seen.checkpoint, self.backup.batch_id, self.root
        require_restorable_backup(root, self.backup)
        held, backup = read_restart_set(root, self.backup)
        compared = compare(checkpoint, seen.view, backup)
        require_same_query(seen.view, backup, compared)
        is_known = require_exchangeable(checkpoint, seen.view, root, backup, compared)
        damaged = {name: error for name, error in seen.view.damaged.items() if name not in held.entries}
        view = replace(seen.view, entries={**seen.view.entries, **held.entries}, damaged=damaged)
        said = self._said(replace(seen, view=view), batch_id)
        effect, sink_log = judge_sink(seen.stores, view, batch_id, said, fenced=self.fenced)
        plan = plan_exchange(
            view=view,
            backup=backup,
            root=root.location,
            planned_at_ms=now_ms(),
            effects=(effect if is_known else _not_known(effect, batch_id),),
            sink_log=sink_log,
            replaced=compared.replaced,
            sha256_of=lambda name: checkpoint.sha256(name)[1],
            closed=self.is_closed,
        )
        if not self.is_closed:
            plan = judge_start(plan, seen.view, checkpoint, coming_from(root, checkpoint))
        plan = replace(plan, trigger=said.trigger or "")
        plan = without_gone_inputs(plan, inputs_after(checkpoint, view, batch_id))
        coming = [action.size for action in plan.actions if isinstance(action, Copy) and action.source]
        note = f"{len(coming)} files ({sum(coming):,} bytes) are copied from backup {backup.backup_id}."
        plan = self._told(plan, seen, ToBatch(batch_id), held.offset_seq(batch_id), view, note)
        return plan if self.is_closed else _with_repeated(plan, seen)


class Executor(InPlace):
    """Drops batches."""

    planner = _Back

    @property
    def ways_out(self) -> str:
        """Commands that put everything back, or drop only what the query has written."""
        place, batch_id = shlex.quote(self.plan.location), self.plan.batch_id
        return (
            f"run `{self.stores.undo_command}` to put the removed files back, or "
            f"`ckpt rollback {place} --to-batch {batch_id}` to drop what the query has written"
        )


# --- which way -----------------------------------------------------------------------------------------------------


def _found_or_made(stores: Stores, target: int | RollbackTarget | ToBackup | BeforeDeploy, own: _Own) -> Plan:
    if isinstance(target, BeforeDeploy):
        own = {**own, "note": target.note}
        target = find_bookmarked(stores, target.bookmark)
    if isinstance(target, ToBackup):
        return _to_backup(stores, target, own)
    goal = target if isinstance(target, RollbackTarget) else ToBatch(target)
    if isinstance(goal, ToBatch) and (found := _backup_of(stores, goal.batch_id)) is not None:
        with suppress(BatchNotRestorableError):
            return _to_backup(stores, found, own)
    try:
        planner = WithOwnFiles(goal, resolve(stores.checkpoint, goal), **own)
        return find_begun(planner, stores) or make_anew(planner, stores)
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


def coming_from(root: Store, checkpoint: Store) -> SourceOf:
    """Where the copies of an exchange come from: the root of the backups, or the place that they go back to."""
    return lambda copy: (root, copy.source) if copy.source else (checkpoint, copy.name)


def _otherwise(checkpoint: Store) -> str:
    """Remedy where a batch cannot be the target."""
    return (
        "Choose another batch, or take the file from a backup: ckpt rollback "
        f"{shlex.quote(checkpoint.location)} --to-backup ROOT/ID."
    )


def _to_backup(stores: Stores, target: ToBackup, own: _Own) -> Plan:
    """An ordinary rollback as long as the checkpoint holds all that it needs; else the backup's files come back."""
    checkpoint, root = stores.checkpoint, stores.backups
    if root is None:
        raise PlanError(f"the root {target.root} of the backup was not given to open.", location=checkpoint.location)
    wanted = FromBackup(target.backup_id)
    begun = find_interrupted(stores, "rollback", lambda plan: wanted in plan.requirements, own["said"])
    if begun is not None:
        return begun  # everything was copied before it began: it does not matter whether the backup is there
    query_id = observe(checkpoint).query_id if target.backup_id == LATEST else None  # a named one may bring it back
    backup = find_backup(root, target.backup_id, query_id)
    try:
        return _back_to(stores, WithBackup(root, backup, **own), own)
    except BatchNotRestorableError as error:
        error.hint = error.hint or (
            f"Restore the backup to a new location, and start the query there: ckpt restore "
            f"{shlex.quote(root.location)} {backup.backup_id} --to "
            f"{shlex.quote(f'{checkpoint.location}-batch-{backup.batch_id}')} --sink TYPE[:URI] --execute"
        )
        raise


def _back_to(stores: Stores, exchange: WithBackup, own: _Own) -> Plan:
    backup = exchange.backup
    view = exchange.observe(stores)
    require_own_sources(stores, backup.batch_id, view)
    if keeps_batch(view, backup, compare(stores.checkpoint, view, backup)):
        planner = WithOwnFiles(ToBatch(backup.batch_id), backup.batch_id, **own)
        if (begun := find_begun(planner, stores)) is not None:
            return begun
        with suppress(BatchNotRestorableError):
            return make_anew(planner, stores, view)
    return make_anew(exchange, stores, view)


def make_exchange(stores: Stores, root: Store, backup: Manifest, said: Said) -> Plan:
    """The steps that make the batch of a backup, for a change that closes the checkpoint around them.

    Raises what :func:`make_rollback` raises.
    """
    planner = WithBackup(root, backup, is_closed=True, said=said)
    return planner.decide(Seen(stores, planner.observe(stores), said))


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


def _with_repeated(plan: Plan, seen: Seen) -> Plan:
    """The plan with a warning where the checkpoint went back to this batch before, and the query has gone on."""

    def is_same(earlier: Plan) -> bool:
        return (earlier.kind, earlier.batch_id) == (plan.kind, plan.batch_id)

    return replace(plan, warnings=(*plan.warnings, *repeated_warnings(seen.stores, is_same, seen.view.committed)))
