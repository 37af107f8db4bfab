"""Planning a restore to a new or empty location: a move when the query keeps its id, else a fork."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.relocation import (
    PathRule,
    relocate,
    same_id_warning,
    sink_log_warning,
    unknown_warnings,
)
from airflow_provider_ckpt.backup.retention import date_warnings
from airflow_provider_ckpt.backup.take import require_apart
from airflow_provider_ckpt.backup.verify import read_verified, require_restorable_backup
from airflow_provider_ckpt.change.new_place.make import find_or_make_new, require_free_place
from airflow_provider_ckpt.change.new_place.write import what_is_written
from airflow_provider_ckpt.change.option import WAIT_S, Opt, TriggerOf, WaitForBatch
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.restore.judge_sinks import effects_of_restore
from airflow_provider_ckpt.changes.restore.open_sink_log import find_new
from airflow_provider_ckpt.changes.restore.plan import interval_warning, plan_restore
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.observe import decode_entries
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.embedded_paths import paths_of
from airflow_provider_ckpt.codec.state_metadata import OperatorStateMetadata
from airflow_provider_ckpt.errors import (
    CheckpointFormatError,
    PlanError,
)
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.restart.real_time import trigger_of
from airflow_provider_ckpt.storage.concurrency import THREADS, in_parallel
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.limits import FILE_LOG_BYTES, size_text


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRequest:
    """Which backup comes back, and as what."""

    backup_root: Annotated[str, Opt("")] = ""  # arguments of the command
    backup_id: Annotated[str, Opt("")] = "latest"
    query_id: Annotated[
        str | None,
        Opt(
            "--query-id ID",
            "Use the latest backup of this query, or check that the backup of BACKUP_ID is of this query. Needed "
            "without BACKUP_ID where the root has backups of several queries.",
        ),
    ] = None
    new_query_id: Annotated[
        bool,
        Opt("--new-query-id", "Give the restored checkpoint a new query id, for a second query beside the first."),
    ] = False
    rewrite_paths: Annotated[
        tuple[PathRule, ...],
        Opt(
            "--rewrite-paths FROM=TO",
            "Replace this prefix of input file paths in the logs of file sources. Can be given more than once.",
            "paths",
        ),
    ] = ()
    sinks: Annotated[
        tuple[Sink, ...],
        Opt(
            "--sink TYPE[:URI]",
            "Sink of the query, such as file:/data/out or delta:s3://lake/orders; the plan states the effect on it. "
            "Can be given more than once.",
            "sinks",
        ),
    ] = ()
    fence: Annotated[
        bool,
        Opt(
            "--fence",
            "First fence the checkpoint that the backup was taken from (ckpt fence), so that a query there that "
            "cannot be reached stops at its next batch. Needs --execute.",
            beside_plan=True,
        ),
    ] = False
    wait_for_batch: WaitForBatch = WAIT_S
    trigger: TriggerOf = None


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
    sinks: Iterable[tuple[Sink, Store | None]] = (),
    trigger: str | None = None,
) -> Plan:
    """Plan to write a backup to a new or empty location, or to complete a restore of it that was killed.

    Args:
        root: Location of the backup root.
        backup: The backup.
        target: The location to write to.
        new_query_id: A fork gets an id of its own; None moves the query with its id.
        path_rules: Absolute paths that change inside the checkpoint, beside those to its own schema files.
        sinks: Sinks of the query, for the effects, each with the store of its ``directory``.
        trigger: The trigger of the query as the query file says it; ``realTime`` changes what is sure of the sinks.

    Raises:
        ObjectExistsError: There is something else at the location.
        BackupCorruptError: A file that holds paths is not what was backed up.
        PlanError: One of the location and the backup root is inside the other, or the location is inside the original
            checkpoint.
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
            hint="Nothing was done. Restore without --rewrite-paths, and leave the input files where they are.",
        )
    moved = relocate(entries, {item.name for item in backup.objects}, target.location, path_rules)
    own_unread = tuple(f"{name} is too large to be read, so its paths are not changed." for name in unread)
    fork, sinks = new_query_id is not None, tuple(sinks)
    operators = (entry.operator_name for entry in entries.values() if isinstance(entry, OperatorStateMetadata))
    trigger = trigger_of(trigger, operators)
    own = () if fork else (same_id_warning(backup.query_id, backup.location),)
    elsewhere = (_sink_paths(store) for sink, store in sinks if sink.kind == "file" and store)
    planned_at_ms = now_ms()
    new = find_new(sinks, backup.batch_id) if fork else None
    dates = date_warnings(backup, planned_at_ms)
    interval = None if new is None else interval_warning(backup.batch_id)
    plan = plan_restore(
        backup,
        root.location,
        target.location,
        planned_at_ms,
        new_query_id,
        rewritten=moved.rewritten,
        warnings=(
            *own,
            *moved.warnings,
            *own_unread,
            *unknown_warnings(backup),
            *dates,
            *filter(None, (*elsewhere, interval)),
        ),
        effects=effects_of_restore(target, sinks, backup, fork=fork, trigger=trigger, new=new),
        trigger=trigger,
        sink=new.location if new is not None else "",
    )
    wanted = what_is_written(plan)
    return find_or_make_new(
        lambda: plan, target, lambda other: what_is_written(other) == wanted, lambda copy: (root, copy.source)
    )


def _require_outside_original(backup: Manifest, target: Store) -> None:
    """A checkpoint that still exists gets no other one inside of it."""
    original = _original(backup, target)
    if original is None or original.real_root == target.real_root or not target.is_within(original):
        return
    if original.exists():
        raise PlanError(
            f"the location is inside {backup.location}, the checkpoint that was backed up.",
            location=target.location,
            hint="Nothing was done. Give a location outside of it.",
        )


def _original(backup: Manifest, target: Store) -> Store | None:
    """The checkpoint that the backup was taken from, when it is on the same storage as the target."""
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
