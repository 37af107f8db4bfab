"""Carrying out the plan of a restore: a new or empty location gets the files of a backup."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import count, groupby
from shlex import quote

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.backup.catalog import find_backup
from airflow_provider_ckpt.backup.copier import copies_at_once
from airflow_provider_ckpt.backup.verify import read_verified
from airflow_provider_ckpt.change.open_sinks import sinks_of
from airflow_provider_ckpt.change.places import Stores, require_own_place
from airflow_provider_ckpt.change.plan.acceptance import require_accepted, require_names
from airflow_provider_ckpt.change.plan.actions import Action, Copy, Create
from airflow_provider_ckpt.change.plan.facts import Place
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.change.record.find_done import receipt_of
from airflow_provider_ckpt.change.record.find_written import find_made, find_written, is_unrecorded, record_place
from airflow_provider_ckpt.change.record.receipt import Receipt
from airflow_provider_ckpt.changes.restore.judge_sinks import Sinks, effects_of_restore
from airflow_provider_ckpt.changes.restore.make import what_is_written
from airflow_provider_ckpt.changes.restore.open_sink_log import find_new, open_sink_log
from airflow_provider_ckpt.changes.restore.plan import plan_restore
from airflow_provider_ckpt.changes.restore.require_empty import require_empty
from airflow_provider_ckpt.checkpoint.own_files import PLAN
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.embedded_paths import paths_of, with_paths
from airflow_provider_ckpt.codec.layout import main_name
from airflow_provider_ckpt.errors import (
    BackupCorruptError,
    CheckpointBusyError,
    CheckpointError,
    CheckpointFormatError,
    CheckpointLockedError,
    CheckpointNotFoundError,
    PlanError,
    StalePlanError,
)
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.sinks.memory import remember
from airflow_provider_ckpt.storage.concurrency import OnStep, in_parallel, no_step
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject


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

    Log entries are written one after the other in the order of the plan, and what lies between them is on the disk
    before the next one is; that itself has no order.

    Args:
        plan: What to do.
        root: Location of the backup root.
        target: Where to.
        by: Who does it, for ``ckpt history`` of the new checkpoint; when nobody says, nothing is recorded.
        asked: What was asked for, as for :func:`~airflow_provider_ckpt.change.apply.apply`.
        threads: How many files are copied in parallel; by default few on a local disk.
        on_step: Called after each object.
        accept_sink: Sink effects that are accepted, by name: ``duplicated``, ``skipped``, ``unknown``, ``stops``.
        approved_by: Who has approved the plan, for ``ckpt history``; empty for ``by``.
        sinks: The sinks that were declared for the plan, to be remembered, each with the store of its ``directory``.

    Raises:
        PlanError: The effect on a sink is not exact, and was not accepted.
        ObjectExistsError: There is something else at the location.
        BackupCorruptError: An object of the backup is not what its manifest says.
        CheckpointBusyError: Another process writes to the location.
        CheckpointLockedError: Another run has begun the same restore at the same moment.
    """
    require_names(plan.location, by=by, asked=asked, approved_by=approved_by)
    if (made := find_made(plan, target)) is not None:
        return receipt_of(made)
    if (begun := find_written(target, lambda other: what_is_written(other) == what_is_written(plan))) is not None:
        plan = begun.plan
    started_ms = now_ms()
    threads = threads or copies_at_once(root, target)
    there = target.find()
    require_empty(plan, target, there)
    todo = {action.name: action for action in _steps_in(plan, "checkpoint") if action.name not in there}
    place = record_place(plan, target)
    if todo or place is None or PLAN not in place.ls()[0]:
        _require_of_backup(plan, root, target, tuple(sinks))  # also when it has no steps: they may have been taken out
    accepted = require_accepted(plan, accept_sink) if todo else ()
    record = place if by and (todo or is_unrecorded(place)) else None
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
            asked=asked,
        )
        _require_first(plan, target, record)
        remember(target, plan.query_id, sinks, approved_by or by)
    opened = 0
    with _telling_what_is_left(plan, target):
        if todo and (new := _new_sink(plan, sinks)) is not None:
            opened = open_sink_log([step for step in _steps_in(plan, "sink") if isinstance(step, Create)], new)
        _write_all(plan=plan, root=root, target=target, todo=todo, there=there, threads=threads, on_step=on_step)
    if record is not None:
        journal.complete(record, plan.plan_id, by=by, at_ms=now_ms())
    return Receipt(
        plan_id=plan.plan_id,
        kind=plan.kind,
        status="applied" if todo else "already_applied",
        location=target.location,
        batch_id=plan.batch_id,
        actions=opened + len(todo),
        record=record.location if record is not None else "",
        started_at_ms=started_ms,
        finished_at_ms=now_ms(),
    )


def _require_first(plan: Plan, target: Store, record: Store) -> None:
    """Stop if another one begins the same restore at once."""
    own = what_is_written(plan)
    other = find_written(target, lambda item: item.plan_id != plan.plan_id and what_is_written(item) == own)
    if other is not None and other.by and other.state != "applied":
        journal.refuse(record, "Another run began the same restore at the same moment.", now_ms())
        raise CheckpointLockedError(
            f"another run began the same restore at the same moment (by {other.by}).",
            location=target.location,
            hint="Nothing was done. Run it again: it completes what was begun, or says that it was done.",
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
            f"{left} in {target.location}: start no query from it. When the cause is fixed, complete the restore with "
            f"`ckpt restore {quote(plan.source)} {backup_id} --to {quote(target.location)} --execute`. To restore "
            "another backup, give a new location, or delete this one first."
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
        raise PlanError(f"this is the plan of a {plan.kind}, not of a restore.", location=target.location)
    require_own_place(plan, Stores(target))
    backup_id = plan.backup_id
    if backup_id is None:  # of an earlier version, and so made before this one
        raise StalePlanError("the plan does not say which backup it restores.", hint="Nothing was done. Plan again.")
    backup = find_backup(root, backup_id)
    again_fork = plan.query_id != backup.query_id
    new = _new_sink(plan, sinks)
    stored = {item.name: item for item in backup.objects}
    entries: dict[str, codec.Encodable] = {}
    for action in _steps_in(plan, "checkpoint"):
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
            target,
            sinks or [(sink, None) for sink in sinks_of(plan)],
            backup,
            fork=again_fork,
            trigger=plan.trigger,
            new=new,
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


def _steps_in(plan: Plan, place: Place) -> list[Action]:
    return [action for action in plan.actions if action.place == place]


def _new_sink(plan: Plan, sinks: Sinks) -> Store | None:
    """The directory of the file sink whose log the plan begins. Raises PlanError where it is not as it was planned."""
    if not plan.sink:
        return None
    store = next((store for _, store in sinks if store is not None and store.location == plan.sink), None)
    if store is None:
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


def _with_paths_of(plan: Plan, name: str, entry: codec.Encodable) -> bytes:
    """A file of the backup with the paths that the plan gives it; whatever else was changed comes out differently."""
    steps = (step for step in _steps_in(plan, "checkpoint") if isinstance(step, Create) and step.name == name)
    data = next(steps).data.encode()
    try:
        paths = paths_of(codec.decode(name, data))
    except CheckpointFormatError:
        return b""
    moved = dict(zip(paths_of(entry), paths, strict=False))
    return with_paths(name, entry, lambda path: moved.get(path, path))


def _require_alone(plan: Plan, target: Store, before: Mapping[str, StoredObject]) -> None:
    """Another reading: what is there now is the plan's, or was there ``before`` and judged then."""
    sizes = {action.name: action.size for action in _steps_in(plan, "checkpoint")}
    for name, stored in sorted(target.find().items()):
        if name not in before and stored.size != sizes.get(name):
            raise CheckpointBusyError(
                "another process wrote this file while the backup was restored.",
                location=target.location,
                name=name,
                batch_id=plan.batch_id,
                hint="Do not start a query here. Stop that process, and restore to a new location.",
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
