"""Making the plans of rollbacks: to a batch whose files the checkpoint holds, or with those of a backup."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Self

from airflow_provider_ckpt.backup.catalog import LATEST, find_backup, survey_backups
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.change.executor import InPlace
from airflow_provider_ckpt.change.fence.find import required_fence
from airflow_provider_ckpt.change.find_repeated import repeated_warnings
from airflow_provider_ckpt.change.make_plan import Planner, Seen, find_begun, make_anew, observe_whole
from airflow_provider_ckpt.change.option import (
    WAIT_S,
    Downstream,
    FenceFirst,
    Form,
    Opt,
    SinkOf,
    TriggerOf,
    WaitForBatch,
    goal_names,
    goal_values,
    not_known_yet,
    of_field,
)
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.fenced import dropping_fence
from airflow_provider_ckpt.change.plan.kinds import Kind
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.plan.requirements import FromBackup
from airflow_provider_ckpt.change.record.resume import Said, find_interrupted
from airflow_provider_ckpt.changes.rollback.find_bookmarked import find_bookmarked
from airflow_provider_ckpt.changes.rollback.find_resets import find_resets
from airflow_provider_ckpt.changes.rollback.goal import (
    BeforeDeploy,
    RollbackGoal,
    RollbackTarget,
    ToBackup,
    ToBatch,
    committed_later,
    notes_of,
    parse_target,
)
from airflow_provider_ckpt.changes.rollback.make_steps import drop_later, exchange
from airflow_provider_ckpt.changes.rollback.read_backup import compare, keeps_batch
from airflow_provider_ckpt.changes.rollback.require_own_sources import require_own_sources
from airflow_provider_ckpt.changes.rollback.resolve import backups_hint, resolve
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.read_unmoved import read_unmoved
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import (
    BatchNotRestorableError,
    CheckpointFormatError,
    CheckpointNotFoundError,
    PlanError,
)
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.query.source import Source, known_types
from airflow_provider_ckpt.restart.bookmark import Bookmark
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
        target: A batch id, or another goal (``changes/rollback/goal.py``); for a backup, ``stores.backups`` must be
            its root.
        trim_sink_log: Remove the dropped batches from the file sink's log as well.
        sink: The sink at ``stores.sink``, or a sink that has no place; a file sink when nothing says otherwise.
        sources: Declared types by source id, to count what will be read again.
        trigger: The trigger of the query as the query file says it; ``realTime`` changes what is sure of the sink.
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
    types = {source_id: Source(source_id, kind) for source_id, kind in (sources or {}).items()}
    return RollbackRequest(
        goal=target if isinstance(target, RollbackTarget | ToBackup | BeforeDeploy) else ToBatch(target),
        trim_sink_log=trim_sink_log,
        sink=sink,
        sources=types,
        trigger=trigger,
        fenced=fenced,
    ).plan(stores)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRequest(Planner):
    """Where a checkpoint goes back to.

    Args:
        goal: That, where it is not said by the other fields.
        batch_id: The batch that it is, of which the checkpoint holds all that a restart reads; None until it is
            known.
        backup: The backup that it is, whose files come as far as the checkpoint lacks them.
        is_closed: Whether the checkpoint is closed around the steps by the change that they are for, which is judged.
        note: How the goal was found, for who reads a plan that is made now; one that was begun keeps its own.
    """

    kind: ClassVar[Kind] = "rollback"
    to_batch: Annotated[
        int | str | None,
        Opt("--to-batch BATCH_ID", "Keep this batch, and drop all later ones.", "whole", least=0, goal="batch"),
        Form("Keep batches up to", "a batch id, such as 41"),
    ] = None
    to_timestamp: Annotated[
        int | str | None,
        Opt(
            "--to-timestamp",
            "Roll back to the newest batch that began at or before this time.",
            "time",
            goal="timestamp",
        ),
        Form("Or: keep batches that began up to", "2026-11-22T12:00Z"),
    ] = None
    to_watermark: Annotated[
        int | str | None,
        Opt(
            "--to-watermark",
            "Roll back to the newest batch whose watermark is at most this time.",
            "time",
            goal="watermark",
        ),
        Form("Or: keep batches with a watermark up to", "2026-11-22T12:00Z"),
    ] = None
    to_offsets: Annotated[
        str | Mapping[str, Any] | None,
        Opt(
            "--to-offsets JSON",
            "Roll back to the newest batch in which no source partition is beyond these offsets, by source id, such "
            'as {"0": {"topic": {"0": 5}}}.',
            "json",
            goal="offsets",
        ),
        Form("Or: keep batches that have not read past", '{"0": {"orders": {"0": 500}}}'),
    ] = None
    to_backup: Annotated[
        str | None,
        Opt(
            "--to-backup ROOT/ID",
            "Roll back to the batch of this backup. Files that Spark has purged are restored from it.",
            goal="backup",
        ),
        Form("Or: go to the batch of a backup", "s3://lake/backups/ID"),
    ] = None
    to_before_deploy: Annotated[
        Bookmark | str | Mapping[str, Any] | None,
        Opt(
            "--to-before-deploy FILE",
            "Roll back to the batch that was the newest committed one when ckpt gate --bookmark has written this file.",
            "bookmark",
            goal="before_deploy",
        ),
        Form("Or: go back to before a deploy", "the XCom bookmark of its gate"),
    ] = None
    sources: Annotated[
        Mapping[str, Source],
        Opt(
            "--source ID=TYPE",
            "Type of a source by its id, such as 0=kafka; --to-offsets needs it. Can be given more than once.",
            "sources",
        ),
        Form("Types of the sources", "0=kafka, 1=delta; for amounts and offsets"),
    ] = field(default_factory=dict)
    backup_root: Annotated[
        str | None,
        Opt(
            "--backup-root ROOT", "Root of the backups from which files that Spark has purged may be restored.", "place"
        ),
        Form("Root of backups, for a batch that was purged", "s3://lake/backups"),
    ] = None
    sink: SinkOf = None
    trim_sink_log: Annotated[
        bool,
        Opt("--trim-sink-log", "Also remove the dropped batches from the file sink's log. Needs --sink file:URI."),
        Form("Remove the dropped batches from the log of a file sink, too"),
    ] = False
    downstream: Downstream = ()
    fence: FenceFirst = False
    wait_for_batch: WaitForBatch = WAIT_S
    trigger: TriggerOf = None
    goal: RollbackGoal | None = None
    batch_id: int | None = None
    backup: Manifest | None = None
    is_closed: bool = False
    note: str = ""

    @property
    def source_types(self) -> dict[str, str]:
        """The types of the sources that were declared, by id."""
        return known_types(self.sources)

    def target(self) -> RollbackGoal:
        """Where to.

        Raises:
            ValueError: None or several are given, or one makes no sense.
            CheckpointError: ``to_before_deploy`` is no bookmark.
        """
        if self.goal is not None:
            return self.goal
        return parse_target(**goal_values(self), source_types=self.source_types, called=goal_names(RollbackRequest))

    @property
    def _found(self) -> tuple[RollbackTarget, int]:
        """The goal, and the batch that it is, once it is known. Raises PlanError."""
        if not isinstance(self.goal, RollbackTarget) or self.batch_id is None:
            raise not_known_yet("the batch of the rollback")
        return self.goal, self.batch_id

    @property
    def places(self) -> Mapping[str, Any]:
        """The sink; and the root of the backup that is gone back to, or the one that was said."""
        target = self.target() if self.to_backup else None
        return {"sink": self.sink, "backups": target.root if isinstance(target, ToBackup) else self.backup_root}

    def require_sense(self) -> None:
        """Raise ValueError unless exactly one goal is given that makes sense, and what else is said goes with it."""
        with nullcontext() if self.to_offsets is None else of_field("to_offsets"):
            target = self.target()
        if isinstance(target, ToBackup) and (self.backup_root or target.root).rstrip("/") != target.root.rstrip("/"):
            raise ValueError(
                "--to-backup already gives the root; use --backup-root only with the other --to options (in a DAG: "
                "to_backup, backup_root)"
            )
        Planner.require_sense(self)

    @property
    def removes_fence(self) -> bool:
        """True: its plans remove the fence before they end."""
        return True

    @classmethod
    def of(cls, plan: Plan, stores: Stores) -> Self:
        """The same batch, or the same backup."""
        backup = None
        if plan.backup_id is not None:
            if stores.backups is None:
                raise PlanError(f"the root {plan.source} of the backup was not given to open.", location=plan.location)
            backup = find_backup(stores.backups, plan.backup_id)
        return cls(
            goal=ToBatch(plan.batch_id),
            batch_id=plan.batch_id,
            backup=backup,
            sink=plan.declared_sink,
            trigger=plan.trigger,
            trim_sink_log=bool(plan.sink),
            fenced=plan.fence is not None,
        )

    def plan(self, stores: Stores, opener: Callable[[str], Store] | None = None) -> Plan:
        """As :func:`make_rollback`."""
        return read_unmoved(lambda: _found_or_made(self, stores), stores.checkpoint, stores.sink)

    def is_met_by(self, plan: Plan) -> bool:
        """The batch is the end, or the backup; no plan is, while the batch is not known."""
        if self.backup is not None:
            return FromBackup(self.backup.backup_id) in plan.requirements
        return self.batch_id is not None and plan.batch_id == self.batch_id

    def observe(self, stores: Stores) -> CheckpointView:
        """The checkpoint with the entries of the batch, as far as it has them."""
        return observe_whole(stores.checkpoint, self.batch_id)

    def decide(self, seen: Seen) -> Plan:
        """Every later batch goes; of a backup what differs from it goes, and its files come."""
        target, batch_id = self._found
        if self.backup is not None:
            plan, entry, view = exchange(seen, self.backup, fenced=self.fenced, closed=self.is_closed)
        else:
            plan, view = drop_later(seen, batch_id, fenced=self.fenced), seen.view
            later = committed_later(target, batch_id, view)
            plan, entry = replace(plan, warnings=(*plan.warnings, *later)), view.offset_seq(batch_id)
        plan = self._told(plan, seen, entry, view)
        return plan if self.is_closed else _with_repeated(plan, seen)

    def judge(self, plan: Plan, seen: Seen) -> Plan:
        """What the batch would do is judged before the effects and warnings that rest on it."""
        return plan

    def _told(self, plan: Plan, seen: Seen, entry: OffsetSeq, view: CheckpointView) -> Plan:
        """The plan with what its reader should know of the target; behind the fence, if there is one."""
        resets = find_resets(seen.stores, plan.batch_id, entry)
        try:
            newest = view.latest_offset_seq if not resets.dropped else None
        except (CheckpointFormatError, CheckpointNotFoundError):
            newest = None  # going back from an entry that is damaged, or came meanwhile: what was read cannot be told
        notes = (
            *filter(None, [self.note]),
            *notes_of(self._found[0], resets.batch_id, entry, newest, self.source_types),
            *plan.notes,
        )
        plan = replace(plan, notes=notes, warnings=(*plan.warnings, *resets.warnings()))
        return dropping_fence(plan, required_fence(seen.stores)) if self.fenced else plan


class Executor(InPlace):
    """Drops batches."""

    planner = RollbackRequest

    @property
    def ways_out(self) -> str:
        """Commands that put everything back, or drop only what the query has written."""
        place, batch_id = shlex.quote(self.plan.location), self.plan.batch_id
        return (
            f"run `{self.stores.undo_command}` to put the removed files back, or "
            f"`ckpt rollback {place} --to-batch {batch_id}` to drop what the query has written"
        )


# --- which way -----------------------------------------------------------------------------------------------------


def _found_or_made(asked: RollbackRequest, stores: Stores) -> Plan:
    target = asked.target()
    if isinstance(target, BeforeDeploy):
        asked, target = replace(asked, note=target.note), find_bookmarked(stores, target.bookmark)
    if isinstance(target, ToBackup):
        return _to_backup(asked, stores, target)
    if isinstance(target, ToBatch) and (found := _backup_of(stores, target.batch_id)) is not None:
        with suppress(BatchNotRestorableError):
            return _to_backup(asked, stores, found)
    try:
        asked = replace(asked, goal=target, batch_id=resolve(stores.checkpoint, target))
        return find_begun(asked, stores) or make_anew(asked, stores)
    except BatchNotRestorableError as error:
        if stores.backups is not None:
            hint = backups_hint(stores.backups, target, observe(stores.checkpoint).query_id)
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


def _to_backup(asked: RollbackRequest, stores: Stores, target: ToBackup) -> Plan:
    """An ordinary rollback as long as the checkpoint holds all that it needs; else the backup's files come back."""
    checkpoint, root = stores.checkpoint, stores.backups
    if root is None:
        raise PlanError(f"the root {target.root} of the backup was not given to open.", location=checkpoint.location)
    wanted = FromBackup(target.backup_id)
    begun = find_interrupted(stores, "rollback", lambda plan: wanted in plan.requirements, asked.said)
    if begun is not None:
        return begun  # everything was copied before it began: it does not matter whether the backup is there
    query_id = observe(checkpoint).query_id if target.backup_id == LATEST else None  # a named one may bring it back
    backup = find_backup(root, target.backup_id, query_id)
    try:
        return _back_to(replace(asked, goal=ToBatch(backup.batch_id), batch_id=backup.batch_id), stores, backup)
    except BatchNotRestorableError as error:
        error.hint = error.hint or (
            f"Restore the backup to a new location, and start the query there: ckpt restore "
            f"{shlex.quote(root.location)} {backup.backup_id} --to "
            f"{shlex.quote(f'{checkpoint.location}-batch-{backup.batch_id}')} --sink TYPE[:URI] --execute"
        )
        raise


def _back_to(asked: RollbackRequest, stores: Stores, backup: Manifest) -> Plan:
    view = asked.observe(stores)
    require_own_sources(stores, backup.batch_id, view)
    if keeps_batch(view, backup, compare(stores.checkpoint, view, backup)):
        if (begun := find_begun(asked, stores)) is not None:
            return begun
        with suppress(BatchNotRestorableError):
            return make_anew(asked, stores, view)
    return make_anew(replace(asked, backup=backup), stores, view)


def make_exchange(stores: Stores, backup: Manifest, said: Said) -> Plan:
    """The steps that make the batch of a backup, for a change that closes the checkpoint around them.

    Raises what :func:`make_rollback` raises.
    """
    own: dict[str, Any] = {"sink": said.sink, "trigger": said.trigger, "trim_sink_log": said.trim_sink_log}
    asked = RollbackRequest(
        goal=ToBatch(backup.batch_id), backup=backup, batch_id=backup.batch_id, is_closed=True, **own
    )
    return asked.decide(Seen(stores, asked.observe(stores), said))


def _with_repeated(plan: Plan, seen: Seen) -> Plan:
    """The plan with a warning where the checkpoint went back to this batch before, and the query has gone on."""

    def is_same(earlier: Plan) -> bool:
        return (earlier.kind, earlier.batch_id) == (plan.kind, plan.batch_id)

    return replace(plan, warnings=(*plan.warnings, *repeated_warnings(seen.stores, is_same, seen.view.committed)))
