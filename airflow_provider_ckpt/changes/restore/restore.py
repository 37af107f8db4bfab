"""Carrying out the plan of a restore: a new or empty location gets the files of a backup."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from shlex import quote

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.backup.catalog import find_backup
from airflow_provider_ckpt.backup.copier import copies_at_once
from airflow_provider_ckpt.backup.verify import read_verified
from airflow_provider_ckpt.change.new_place.write import Writer, what_is_written, write_new
from airflow_provider_ckpt.change.open_sinks import Sinks
from airflow_provider_ckpt.change.plan.actions import Action, Copy, Create
from airflow_provider_ckpt.change.plan.facts import Place
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.receipt import Receipt
from airflow_provider_ckpt.changes.restore.judge_sinks import effects_of_restore
from airflow_provider_ckpt.changes.restore.open_sink_log import find_new, open_sink_log
from airflow_provider_ckpt.changes.restore.plan import plan_restore
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.embedded_paths import paths_of, with_paths
from airflow_provider_ckpt.errors import (
    BackupCorruptError,
    CheckpointFormatError,
    CheckpointNotFoundError,
    PlanError,
    StalePlanError,
)
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.storage.concurrency import OnStep, no_step
from airflow_provider_ckpt.storage.store import Store


def restore(
    plan: Plan,
    root: Store,
    target: Store,
    *,
    by: str = "",
    asked: str = "",
    threads: int | None = None,
    on_step: OnStep = no_step,
    accept_sink: str | Collection[str] = (),
    approved_by: str = "",
    sinks: Sinks = (),
) -> Receipt:
    """Carry out a restore. Killed at any point, the same call completes it.

    Args:
        plan: The plan to carry out.
        root: Location of the backup root.
        target: The location to write to.
        by: Who does it, for ``ckpt history`` of the new checkpoint; when nobody says, nothing is recorded.
        asked: What was asked for, as for :func:`~airflow_provider_ckpt.change.apply.apply`.
        threads: How many files are copied in parallel; by default few on a local disk.
        on_step: Called after each object.
        accept_sink: Sink effects that are accepted, by name: ``duplicated``, ``skipped``, ``unknown``, ``stops``.
        approved_by: Name of the person who has approved the plan, for ``ckpt history``; empty for ``by``.
        sinks: The sinks that were declared for the plan, to be remembered, each with the store of its ``directory``.

    Raises:
        PlanError: The effect on a sink is not exact, and was not accepted.
        ObjectExistsError: There is something else at the location.
        BackupCorruptError: An object of the backup is not what its manifest says.
        CheckpointBusyError: Another process writes to the location.
        CheckpointLockedError: Another run has begun the same restore at the same moment.
    """
    writer = _Writer(plan, target, tuple(sinks), threads or copies_at_once(root, target), root=root)
    return write_new(writer, by=by, asked=asked, on_step=on_step, accept_sink=accept_sink, approved_by=approved_by)


@dataclass(kw_only=True)
class _Writer(Writer):
    """Writes the files of a backup; see :func:`restore`."""

    root: Store
    kind = "restore"

    def require_right(self, todo: Collection[Action]) -> None:
        """See that the plan writes a backup, and nothing else: the same files, but for paths that they hold."""
        plan, root, target = self.plan, self.root, self.target
        backup_id = plan.backup_id
        if backup_id is None:  # of an earlier version, and so made before this one
            raise StalePlanError(
                "the plan does not say which backup it restores.", hint="Nothing was done. Plan again."
            )
        backup = find_backup(root, backup_id)
        again_fork = plan.query_id != backup.query_id
        stored = {item.name: item for item in backup.objects}
        entries: dict[str, codec.Encodable] = {}
        for action in self._created():
            if action.name in stored and action.name != layout.METADATA:
                entries[action.name] = codec.decode(action.name, read_verified(root, stored[action.name]))
        again = plan_restore(
            backup,
            root.location,
            target.location,
            plan.planned_at_ms,
            plan.query_id if again_fork else None,
            rewritten={name: self._with_paths_of_plan(name, entry) for name, entry in entries.items()},
            effects=effects_of_restore(
                target,
                self.sinks or [(sink, None) for sink in plan.declared_sinks],
                backup,
                fork=again_fork,
                trigger=plan.trigger,
                new=self._new_sink(),
            ),
            trigger=plan.trigger,
            sink=plan.sink if again_fork else "",
        )
        if what_is_written(plan) != what_is_written(again):
            own = dict.fromkeys(again.actions)
            other = next((action.name for action in plan.actions if action not in own), None)
            raise StalePlanError(
                f"the plan does not restore backup {backup_id}: it "
                f"{'writes other files' if other else 'does not write all of its files'}.",
                location=target.location,
                name=other,
                hint="Nothing was done. The plan was edited, or the backup was replaced. Make the plan again.",
            )

    def begin_sink(self) -> int:
        """Begin the log of a new file sink, before the checkpoint of the fork is there."""
        new = self._new_sink()
        return 0 if new is None else open_sink_log(self._created("sink"), new)

    def write(self, action: Action) -> None:
        """Write a file. Raises BackupCorruptError when it is not what was backed up, and leaves nothing of it."""
        if not isinstance(action, Copy):
            super().write(action)
            return
        root, target, source = self.root, self.target, action.source
        root.require_inside(source)
        try:
            copied = root.copy(source, target, action.name)
        except CheckpointNotFoundError:
            raise BackupCorruptError.of(root.location, source, "is missing") from None
        if copied != (action.size, action.sha256):
            target.delete(action.name)
            raise BackupCorruptError.of(root.location, source, "the object is not what was backed up")

    @property
    def way_on(self) -> str:
        """The command of this restore."""
        backup_id, to = self.plan.backup_id or "BACKUP_ID", quote(self.target.location)
        return f"complete the restore with `ckpt restore {quote(self.plan.source)} {backup_id} --to {to} --execute`"

    def _created(self, place: Place = "checkpoint") -> list[Create]:
        return [action for action in self.steps_in(place) if isinstance(action, Create)]

    def _new_sink(self) -> Store | None:
        """The directory of the file sink whose log the plan begins.

        Raises PlanError where it is not as it was planned.
        """
        plan = self.plan
        if not plan.sink:
            return None
        stores = (store for _, store in self.sinks if store is not None and store.location == plan.sink)
        if (store := next(stores, None)) is None:
            raise PlanError(
                f"the plan begins the log of the sink {plan.sink}, which was not given to open.",
                location=plan.location,
                hint="Nothing was done. Declare the sink.",
            )
        if find_new([(Sink("file", plan.sink), store)], plan.batch_id) is None:
            raise StalePlanError(
                f"the directory of the sink {plan.sink} was empty when the plan was made, and is not any more.",
                location=plan.location,
                hint="Give the fork a new, empty directory, and plan again.",
            )
        return store

    def _with_paths_of_plan(self, name: str, entry: codec.Encodable) -> bytes:
        """A file of the backup with the paths that the plan gives it; whatever else was changed differs."""
        data = next(step.data for step in self._created() if step.name == name).encode()
        try:
            paths = paths_of(codec.decode(name, data))
        except CheckpointFormatError:
            return b""
        moved = dict(zip(paths_of(entry), paths, strict=False))
        return with_paths(name, entry, lambda path: moved.get(path, path))
