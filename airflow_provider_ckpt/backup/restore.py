"""Restoring a backup to a new or empty location: a move when the query keeps its id, else a fork."""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count, groupby
from typing import Any

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.backup.catalog import find_backup
from airflow_provider_ckpt.backup.copier import copies_at_once
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.relocation import (
    PathRule,
    relocate,
    same_id_warning,
    sink_log_warning,
    unknown_warnings,
)
from airflow_provider_ckpt.backup.restore_plan import plan_restore, require_free_place
from airflow_provider_ckpt.backup.restore_sinks import Sinks, effects_of_restore
from airflow_provider_ckpt.backup.take import require_apart
from airflow_provider_ckpt.backup.verify import read_verified, require_restorable_backup
from airflow_provider_ckpt.change import journal
from airflow_provider_ckpt.change.acceptance import require_accepted
from airflow_provider_ckpt.change.actions import Action, Copy, Create
from airflow_provider_ckpt.change.declared_sinks import sinks_of
from airflow_provider_ckpt.change.places import Stores, require_own_place, require_reachable
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.change.receipt import Receipt
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.observe import decode_entries, now_ms
from airflow_provider_ckpt.checkpoint.records_root import records_of
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.embedded_paths import paths_of, with_paths
from airflow_provider_ckpt.codec.layout import main_name
from airflow_provider_ckpt.codec.state_metadata import OperatorStateMetadata
from airflow_provider_ckpt.errors import (
    BackupCorruptError,
    CheckpointBusyError,
    CheckpointError,
    CheckpointFormatError,
    CheckpointNotFoundError,
    ObjectExistsError,
    PlanError,
    StalePlanError,
)
from airflow_provider_ckpt.restart.real_time import trigger_of
from airflow_provider_ckpt.sinks.declared import DeclaredSink
from airflow_provider_ckpt.sinks.memory import remember
from airflow_provider_ckpt.storage.concurrency import THREADS, OnStep, in_parallel, no_step
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.untrusted.limits import FILE_LOG_BYTES, size_text

#: How a store on a local disk calls an object until it is whole.
_UNFINISHED = re.compile(r"\.(.+)\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp")


def fork_id(backup: Manifest, target: Store) -> str:
    """The query id of a fork: the same whenever a backup is restored to a location, so that a restore goes on."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{backup.backup_id} {target.location}"))


def make_restore(
    root: Store,
    backup: Manifest,
    target: Store,
    new_query_id: str | None = None,
    *,
    path_rules: Iterable[PathRule] = (),
    sinks: Iterable[tuple[DeclaredSink, Store | None]] = (),
    trigger: str | None = None,
) -> Plan:
    """Plan to write a backup to a new or empty location, or to complete a restore of it that was killed.

    Args:
        root: Where backups live.
        backup: Which one.
        target: Where to.
        new_query_id: A fork gets an id of its own; None moves the query with its id.
        path_rules: Absolute paths that change inside the checkpoint, beside those to its own schema files.
        sinks: Sinks of the query, for the effects, each with the store of its ``directory``.
        trigger: The trigger of the query as a deploy file says it; ``realTime`` changes what is sure of the sinks.

    Raises:
        ObjectExistsError: There is something else at the location.
        BackupCorruptError: A file that holds paths is not what was backed up.
        PlanError: The location is inside the backup root or the other way round, or inside the original checkpoint.
    """
    require_apart(root, target, "The location to restore to")
    require_free_place(target.location)
    _require_outside_original(backup, target)
    require_restorable_backup(root, backup)
    path_rules = tuple(path_rules)
    entries, unread = _entries_with_paths(root, backup)
    if unread and path_rules:
        raise PlanError(
            f"the paths in {unread[0]} cannot be rewritten: the file is larger than {size_text(FILE_LOG_BYTES)}.",
            location=root.location,
            hint="Nothing was done. Restore without --rewrite-paths, to the paths that the query has read so far.",
        )
    moved = relocate(entries, {item.name for item in backup.objects}, target.location, path_rules)
    own_unread = tuple(f"{name} is too large to be read: its paths stay as they are." for name in unread)
    fork, sinks = new_query_id is not None, tuple(sinks)
    operators = (entry.operator_name for entry in entries.values() if isinstance(entry, OperatorStateMetadata))
    trigger = trigger_of(trigger, operators)
    own = () if fork else (same_id_warning(backup.query_id, backup.location),)
    elsewhere = (_sink_paths(store) for sink, store in sinks if sink.kind == "file" and store)
    plan = plan_restore(
        backup,
        root.location,
        target.location,
        now_ms(),
        new_query_id,
        rewritten=moved.rewritten,
        warnings=(*own, *moved.warnings, *own_unread, *unknown_warnings(backup), *filter(None, elsewhere)),
        effects=effects_of_restore(target, sinks, backup, fork=fork, trigger=trigger),
        trigger=trigger,
    )
    _require_own(plan, target, target.find())
    return plan


def _require_outside_original(backup: Manifest, target: Store) -> None:
    """A checkpoint that still exists gets no other one inside of it."""
    original = _original(backup, target)
    if original is None or original.real_root == target.real_root or not target.is_within(original):
        return
    if original.exists():
        raise PlanError(
            f"the location is inside {backup.location}, the checkpoint that the backup is of.",
            location=target.location,
            hint="Nothing was done. Restore to a location outside of it.",
        )


def _original(backup: Manifest, target: Store) -> Store | None:
    """Where the backup was taken from, when that is on the same storage as the target."""
    same = backup.location.startswith("/") if target.is_local else _scheme(backup.location) == _scheme(target.location)
    return target.at(backup.location) if same else None


def _scheme(location: str) -> str:
    return location.partition("://")[0].replace("s3a", "s3")


def _sink_paths(store: Store) -> str | None:
    """A warning when the log of a file sink names files elsewhere; what it holds since its last compaction is read."""
    entries = SinkLog(store.location, store.ls(layout.SINK_LOG)[0]).entries
    start = max((entry.batch_id for entry in entries if entry.compact), default=0)
    names = [name for entry, name in entries.items() if entry.batch_id >= start]
    decoded, _ = decode_entries(store, names, store.read)
    return sink_log_warning(store.location, [path for entry in decoded.values() for path in paths_of(entry)])


def _entries_with_paths(root: Store, backup: Manifest) -> tuple[dict[str, codec.Encodable], list[str]]:
    """The files of a backup that can hold absolute paths, and the names of those that are too large to be read.

    One that cannot be read is restored as it is.
    """
    holding = layout.SourceLogEntry | layout.SinkLogEntry | layout.OperatorMetadataFile | layout.LogEntry
    stored = {
        item.name: item
        for item in backup.objects
        if isinstance(layout.parse(item.name), holding) and item.name not in backup.unknown
    }
    entries = {}
    too_large = set[str]()

    def add(name: str) -> None:
        with suppress(CheckpointFormatError):
            if stored[name].size > FILE_LOG_BYTES:
                too_large.add(name)
                return
            entries[name] = codec.decode(name, read_verified(root, stored[name]))

    in_parallel(add, list(stored), THREADS)
    return {name: entries[name] for name in stored if name in entries}, sorted(too_large)


def restore(
    plan: Plan,
    root: Store,
    target: Store,
    *,
    by: str = "",
    threads: int | None = None,
    on_step: OnStep = no_step,
    accept_sink: str | Collection[str] = (),
    approved_by: str = "",
    sinks: Sinks = (),
) -> Receipt:
    """Carry out a restore. Killed at any point, the same call completes it.

    Log entries are written one after the other in the order of the plan, and what lies between them is on the disk
    before the next one is; that itself has no order.

    Args:
        plan: What to do.
        root: Where backups live.
        target: Where to.
        by: Who does it, for the history of the new checkpoint; when nobody says, nothing is recorded.
        threads: Copies under way at once; by default few on a local disk.
        on_step: Called after each object.
        accept_sink: Effects on a sink that are accepted by name: ``duplicated``, ``skipped``, ``unknown``.
        approved_by: Who has approved the plan, for the history; empty for ``by``.
        sinks: The sinks that were declared for the plan, to be remembered.

    Raises:
        PlanError: The effect on a sink is not exact, and was not accepted.
        ObjectExistsError: There is something else at the location.
        BackupCorruptError: An object of the backup is not what its manifest says.
        CheckpointBusyError: Somebody else has begun to write to the location.
    """
    started_ms = now_ms()
    threads = threads or copies_at_once(root, target)
    there = target.find()
    _require_own(plan, target, there)
    todo = {action.name: action for action in plan.actions if action.name not in there}
    place = _record(plan, target)
    if todo or place is None or journal.PLAN not in place.ls()[0]:
        _require_of_backup(plan, root, target, tuple(sinks))  # also when it has no steps: they may have been taken out
    accepted = require_accepted(plan, accept_sink) if todo else ()
    record = place if by and todo else None
    if record is not None:
        journal.begin(
            record,
            plan,
            by=by,
            at_ms=started_ms,
            from_batch=None,
            number=journal.next_number(target),
            approved_by=approved_by,
            accepted=accepted,
        )
        remember(target, plan.query_id, sinks, approved_by or by)
    with _telling_what_is_left(plan, target):
        _write_all(plan, root, target, todo, there, threads, on_step)
    if record is not None:
        journal.complete(record, plan.plan_id, by=by, at_ms=now_ms())
    return Receipt(
        plan.plan_id,
        plan.kind,
        "applied" if todo else "already_applied",
        target.location,
        plan.batch_id,
        len(todo),
        record.location if record is not None else "",
        started_ms,
        now_ms(),
    )


@contextmanager
def _telling_what_is_left(plan: Plan, target: Store) -> Iterator[None]:
    """A restore that fails on the way says what it leaves, and how to go on."""
    try:
        yield
    except CheckpointError as error:
        wanted = plan.writes()
        try:
            left = f"{len(wanted & target.find().keys())} of {len(wanted)} files are"
        except CheckpointError:
            left = f"Some of {len(wanted)} files may be"
        backup_id = plan.backup_id or "BACKUP_ID"
        said = (
            f"{left} in {target.location}: start no query from it. When the cause is mended, `ckpt restore "
            f"{plan.source} {backup_id} --to {target.location} --execute` completes it; for another backup, "
            "give a new location, or remove this one first."
        )
        error.hint = f"{error.hint} {said}" if error.hint else said
        raise


def _write_all(
    plan: Plan,
    root: Store,
    target: Store,
    todo: Mapping[str, Action],
    there: Mapping[str, StoredObject],
    threads: int,
    on_step: OnStep,
) -> None:
    """Write what is not there yet, and clear away what an earlier run left half written."""
    done = count(1)
    for in_order, names in groupby(todo, key=_is_log_entry):
        _require_alone(plan, target, there)
        in_parallel(
            lambda name: _write(root, target, todo[name]),
            list(names),
            1 if in_order else threads,
            lambda _done, _total, name: on_step(next(done), len(todo), name),
        )
        if not in_order:
            target.flush()
    for name in there.keys() - plan.writes():  # what an earlier run was writing when it was killed
        target.delete(name)
    target.flush()
    if todo:
        _require_alone(plan, target, {})


def _require_of_backup(plan: Plan, root: Store, target: Store, sinks: Sinks) -> None:
    """See that a plan writes a backup to this place, and nothing else: the same files, but for paths that they hold."""
    if plan.kind != "restore":
        raise PlanError(f"the plan is a {plan.kind}, and no restore.", location=target.location)
    require_own_place(plan, Stores(target))
    backup_id = plan.backup_id
    if backup_id is None:  # of an earlier version, and so made before this one
        raise StalePlanError("the plan does not say which backup it is of.", hint="Nothing was done. Plan again.")
    backup = find_backup(root, backup_id)
    again_fork = plan.query_id != backup.query_id
    stored = {item.name: item for item in backup.objects}
    entries: dict[str, codec.Encodable] = {}
    for action in plan.actions:
        if isinstance(action, Create) and action.name in stored and action.name != layout.METADATA:
            entries[action.name] = codec.decode(action.name, read_verified(root, stored[action.name]))
    again = plan_restore(
        backup,
        root.location,
        target.location,
        plan.planned_at_ms,
        plan.query_id if again_fork else None,
        rewritten={name: _with_paths_of(plan, name, entry) for name, entry in entries.items()},
        effects=effects_of_restore(
            target, sinks or [(sink, None) for sink in sinks_of(plan)], backup, fork=again_fork, trigger=plan.trigger
        ),
        trigger=plan.trigger,
    )
    if _what(plan) != _what(again):
        own = dict.fromkeys(again.actions)
        other = next((action.name for action in plan.actions if action not in own), None)
        raise StalePlanError(
            f"the plan is no restore of backup {backup_id}: it {'writes something else' if other else 'is not whole'}.",
            location=target.location,
            name=other,
            hint="Nothing was done. The plan was edited, or the backup is another one: plan again.",
        )


def _what(plan: Plan) -> tuple[Any, ...]:
    """What a plan does, and what it says of sinks."""
    return plan.actions, plan.source, plan.batch_id, [(item.sink, item.effect) for item in plan.effects]


def _with_paths_of(plan: Plan, name: str, entry: codec.Encodable) -> bytes:
    """A file of the backup with the paths that the plan gives it; whatever else was changed comes out differently."""
    data = next(action.data for action in plan.actions if isinstance(action, Create) and action.name == name).encode()
    try:
        paths = paths_of(codec.decode(name, data))
    except CheckpointFormatError:
        return b""
    moved = dict(zip(paths_of(entry), paths, strict=False))
    return with_paths(name, entry, lambda path: moved.get(path, path))


def _record(plan: Plan, target: Store) -> Store | None:
    """Where the restore is written down; nowhere when nothing can be beside the location."""
    try:
        return records_of(target).child(plan.plan_id)
    except PlanError:
        return None


def _require_alone(plan: Plan, target: Store, before: Mapping[str, StoredObject]) -> None:
    """Another reading: what is there now is the plan's, or was there ``before`` and judged then."""
    sizes = {action.name: action.size for action in plan.actions}
    for name, stored in sorted(target.find().items()):
        if name not in before and stored.size != sizes.get(name):
            raise CheckpointBusyError(
                "another process has written this file while the backup was restored.",
                location=target.location,
                name=name,
                batch_id=plan.batch_id,
                hint="Do not start a query here. Stop the process that writes, and restore to a new location.",
            )


def _is_log_entry(name: str) -> bool:
    return isinstance(layout.parse(main_name(name)), layout.LogEntry)


def _write(root: Store, target: Store, action: Action) -> None:
    target.require_inside(action.name)
    if isinstance(action, Create):
        target.create(action.name, action.data.encode())
        return
    assert isinstance(action, Copy)
    root.require_inside(action.source)
    try:
        size, sha256 = root.copy(action.source, target, action.name)
    except CheckpointNotFoundError:
        raise BackupCorruptError.of(root.location, action.source, "is missing") from None
    if (size, sha256) != (action.size, action.sha256):
        target.delete(action.name)
        raise BackupCorruptError.of(root.location, action.source, "the object is not what was backed up")


def _require_own(plan: Plan, target: Store, there: Mapping[str, StoredObject]) -> None:
    """What is at the location must be what an earlier run of this very restore wrote."""
    require_reachable(target)
    wanted = {action.name: action for action in plan.actions}
    for name, stored in there.items():
        if _being_written(name) in wanted and not stored.is_link:
            continue
        action = None if stored.is_link else wanted.get(name)
        same = action is not None and (stored.size, action.sha256) == target.sha256(name)
        if not same:
            raise ObjectExistsError(
                "the location is not empty.",
                location=target.location,
                name=name,
                hint="Restore to a new location; a restore never writes over anything.",
            )


def _being_written(name: str) -> str | None:
    """The object that a store was writing when it was killed, if that is what a name is left of."""
    directory, _, base = name.rpartition("/")
    match = _UNFINISHED.fullmatch(base)
    return (f"{directory}/{match[1]}" if directory else match[1]) if match else None
