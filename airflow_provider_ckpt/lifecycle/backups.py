"""Backups: taken while the query runs; :mod:`lookup` finds them, :mod:`verifying` reads them back.

A backup is a directory ``<root>/<backup id>/`` with the checkpoint's files under ``checkpoint/`` and a
``manifest.json`` that is written last: without it there is no backup. Batch N is the newest committed one. Its log
entries, which Spark purges first, are copied before anything else is listed; when Spark purges or rewrites a file in
between, the copy starts again with the then newest batch and keeps what it already has.

Whatever else is in the checkpoint, and has no reason to be left out, is copied last (see
:mod:`~airflow_provider_ckpt.contents`) and listed again after that. Where it changes meanwhile it is copied anew; what
keeps changing is in the backup, whole file by whole file, and the manifest says that it may be of another moment.

A backup is incremental: a file that the newest backup of the same query and location has, by name, size and identity,
is referred to where it lies. Backups and :mod:`prunes <airflow_provider_ckpt.lifecycle.pruning>` of one root may run at
the same time, because each side first says what it does and then looks at what the other one said:

* A backup writes ``intent.json``, which names the backup that it may refer to, its *base*. Only then it reads the
  manifest of the base; when that has gone, there is no base. Before the manifest is written everything referred to is
  seen to exist. After that the intent must still be there, and is deleted.
* A prune takes the manifest of a dropped backup away. Only then it reads the intents, and spares what their bases name.

So either the backup sees that its base has gone, or the prune sees that it is in use. A directory that has no manifest
is of a backup under way as long as the youngest object in it is younger than the grace period of the prune.
One hole is left: a backup that outlasts the grace period, and is killed after its manifest was written and before its
intent was looked at, may name what a prune has swept. ``ckpt verify`` finds it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from airflow_provider_ckpt import __version__
from airflow_provider_ckpt.bounded_json import parse_json
from airflow_provider_ckpt.codec import layout, manifest
from airflow_provider_ckpt.codec.manifest import Manifest
from airflow_provider_ckpt.compression import decompressors
from airflow_provider_ckpt.confs import STATE_PROVIDER
from airflow_provider_ckpt.contents import Contents, contents, unknown_names
from airflow_provider_ckpt.errors import (
    BackupCorruptError,
    CheckpointBusyError,
    CheckpointNotFoundError,
    PlanError,
    UnsupportedVersionError,
)
from airflow_provider_ckpt.lifecycle.checking import broken_state_files
from airflow_provider_ckpt.lifecycle.copying import Copier, MovedError, copies_at_once
from airflow_provider_ckpt.lifecycle.lookup import DATA, INTENT, MANIFEST, is_own_id, read_manifest
from airflow_provider_ckpt.lifecycle.observing import (
    OnStep,
    decode_entries,
    drive,
    find_restart_set,
    in_parallel,
    no_step,
    now_ms,
    observe,
    refuse_links,
)
from airflow_provider_ckpt.lifecycle.patience import COMMIT_WAIT_S, Patience, require_restorable
from airflow_provider_ckpt.limits import is_too_large
from airflow_provider_ckpt.objects import StoredObject
from airflow_provider_ckpt.restart_set import RestartSet, log_entries, require, restart_set
from airflow_provider_ckpt.store import Store
from airflow_provider_ckpt.times import calendar_time
from airflow_provider_ckpt.view import CheckpointView

#: Larger state files are not read again when they were copied: `ckpt verify` does.
_READ_BACK_UP_TO = 1 << 20
#: How often a backup begins anew because Spark purged a file under it.
ATTEMPTS = 8
#: How often it begins anew because files that nobody knows changed under it.
UNKNOWN_ATTEMPTS = 4


# --- taking --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BackupPlan:
    """What a backup would copy.

    Args:
        view: The whole checkpoint.
        chosen: The restart set of the newest committed batch.
        beside: What there is beside it: unknown and kept, or left out and why.
    """

    view: CheckpointView
    chosen: RestartSet
    beside: Contents

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that is copied, in order."""
        return (*self.chosen.names, *self.beside.unknown)


def plan_of_backup(checkpoint: Store, root: Store) -> BackupPlan:
    """What a backup into a root would copy right now.

    Raises:
        BatchNotRestorableError: Files are missing.
        CheckpointNotFoundError: No checkpoint, or no batch is committed.
        PlanError: There are links in the checkpoint, or names that no backup can hold; or the root is inside it.
    """
    require_apart(checkpoint, root, "The backup root")
    view = observe(checkpoint, deep=True)
    refuse_links(view)
    batch_id = _newest_committed(view)
    return _planned(view, require(find_restart_set(checkpoint, view, batch_id), view))


def _planned(view: CheckpointView, chosen: RestartSet) -> BackupPlan:
    plan = BackupPlan(view, chosen, contents(view, chosen.batch_id, chosen.names))
    manifest.require_names(plan.names, view.location)
    return plan


def take_backup(
    checkpoint: Store,
    root: Store,
    *,
    full: bool = False,
    tags: Sequence[str] = (),
    message: str = "",
    threads: int | None = None,
    commit_wait_s: float = COMMIT_WAIT_S,
    on_step: OnStep = no_step,
) -> Manifest:
    """Copy the files that a restart after the newest committed batch needs, also while the query runs.

    What is not known inside the checkpoint is copied as well (see :mod:`~airflow_provider_ckpt.contents`).

    Args:
        checkpoint: The checkpoint.
        root: Where backups live; the new one gets a directory of its own.
        full: Copy everything, also what an earlier backup has; Spark can then start from the backup's directory.
        tags: Names that a retention policy can keep a backup for.
        message: Why it is taken, for people.
        threads: Copies under way at once; by default few on a local disk.
        commit_wait_s: How long to wait for the commit of a running batch, when Spark has purged what the batch before
            it needs (``minBatchesToRetain=1``).
        on_step: Called after each object.

    Raises:
        BatchNotRestorableError: Files are missing although nothing is being purged.
        CheckpointBusyError: Spark purged files faster than they could be copied, ATTEMPTS times; or the backup took
            longer than the grace period of a prune, which has removed it.
        PlanError: The root is inside the checkpoint or the other way round; there are links in the checkpoint, or
            names that no backup can hold.
    """
    require_apart(checkpoint, root, "The backup root")
    started_ms = now_ms()
    threads = threads or copies_at_once(checkpoint, root)
    query_id = observe(checkpoint).query_id
    backup_id = new_backup_id(started_ms, query_id or "no-id")
    base = None if full or not query_id else _declare_base(root, backup_id, query_id, checkpoint.location)
    if base is None:
        root.write(f"{backup_id}/{INTENT}", _intent(""))
    copier = Copier(checkpoint, root, f"{backup_id}/{DATA}", {item.name: item for item in base.objects} if base else {})
    patience = Patience(checkpoint, commit_wait_s)
    for attempt in range(ATTEMPTS):
        try:
            plan = patience.until_committed(lambda: _copy_newest(checkpoint, copier, threads, on_step))
            with _meanwhile(root.flush):
                _require_unchanged(checkpoint, copier, plan)
                changed = _copy_unknown(checkpoint, copier, plan, threads, on_step)
                if changed and attempt < UNKNOWN_ATTEMPTS - 1:
                    continue
                copier.keep_only(plan.names)
            if plan.beside.unknown:
                root.flush()
            taken = _manifest(backup_id, plan, copier, started_ms, _Words(tags, message, changed))
        except MovedError:
            continue
        return _finish(root, taken)
    raise CheckpointBusyError(
        f"no consistent copy in {ATTEMPTS} attempts: Spark purges files faster than they can be copied.",
        location=checkpoint.location,
        hint="Raise spark.sql.streaming.minBatchesToRetain, or back up to a faster store.",
    )


def require_apart(one: Store, other: Store, what: str) -> None:
    """Raise PlanError when one location is another, or inside it, or around it."""
    if one.is_within(other) or other.is_within(one):
        raise PlanError(
            f"{what} {other.location} and this location must stand apart: one is inside the other.",
            location=one.location,
            hint="Nothing was done. Choose a place outside.",
        )


def new_backup_id(at_ms: int, query_id: str) -> str:
    """An id that sorts by time and tells the query."""
    at = calendar_time(at_ms)
    return f"{at:%Y%m%dT%H%M%S}.{at_ms % 1000:03d}Z-{query_id[:8]}"


def _declare_base(root: Store, backup_id: str, query_id: str, location: str) -> Manifest | None:
    """The newest backup of the same query and location, declared to be in use before it is read for good."""
    candidates = [name for name in root.ls()[1] if is_own_id(name) and name.endswith(f"-{query_id[:8]}")]
    for candidate in sorted(candidates, reverse=True):
        with suppress(BackupCorruptError, UnsupportedVersionError):  # nothing to build on, and nothing to stop at
            root.write(f"{backup_id}/{INTENT}", _intent(candidate))
            found = read_manifest(root, candidate)
            if found and (found.query_id, found.location) == (query_id, location):
                return found
    return None


def _intent(base: str) -> bytes:
    return json.dumps({"base": base}).encode()


def base_of_intent(data: bytes) -> str:
    """The backup that a backup under way may refer to; empty when there is none. Raises ValueError."""
    try:
        base = parse_json(data)["base"]
    except (KeyError, TypeError) as error:
        raise ValueError(f"no intent: {error!r}") from error
    if base != "" and not manifest.is_backup_id(base):
        raise ValueError("no intent: its base is no backup id")
    return str(base)


def _copy_newest(checkpoint: Store, copier: Copier, threads: int, on_step: OnStep) -> BackupPlan:
    """One attempt: choose the batch from the commit log, copy its log entries, then list the rest and take that in."""
    started = observe(checkpoint)
    batch_id = _newest_committed(started)
    logs = log_entries(started, batch_id)
    for name in logs:
        if name in started.objects and is_too_large(name, started.objects[name].size):
            checkpoint.read(name)  # says so, and nothing is copied
    copier.copy_anew(logs)
    entries, damaged = decode_entries(checkpoint, [name for name in logs if name in copier.held], copier.read)
    objects = {**copier.objects(logs), **checkpoint.find()}
    copier.use_listing(objects)
    _require_same(logs, started.objects, objects)
    view = CheckpointView(checkpoint.location, now_ms(), objects, entries, damaged, complete=True)
    refuse_links(view)
    chosen = drive(restart_set(view, batch_id, decompressors()), copier.read)
    if chosen.missing and observe(checkpoint).latest_committed != batch_id:
        raise MovedError
    _planned(view, require_restorable(chosen, view))
    in_parallel(copier.add, [name for name in chosen.names if name not in copier.held], threads, on_step)
    chosen = _without_broken_files(checkpoint, view, chosen, copier, threads)
    copier.mend_references(lambda function, names: in_parallel(function, names, threads))
    return _planned(view, chosen)


def _copy_unknown(
    checkpoint: Store, copier: Copier, plan: BackupPlan, threads: int, on_step: OnStep
) -> tuple[str, ...]:
    """Copy what is not known, and list it again.

    Returns:
        What was changed, added or removed between the two listings; what was removed before it was copied is not held.
    """
    names = plan.beside.unknown
    if not names:
        return ()
    in_parallel(copier.try_add, names, threads, on_step)
    copier.mend_references(lambda function, lost: in_parallel(function, lost, threads))
    now = checkpoint.find()
    added = set(unknown_names(replace(plan.view, objects=now))) - plan.view.objects.keys()
    return tuple(sorted({*copier.changed(names, now), *added}))


def _without_broken_files(
    checkpoint: Store, view: CheckpointView, chosen: RestartSet, copier: Copier, threads: int
) -> RestartSet:
    """Read what was copied of the state, unless it is large, and choose anew when a file is not whole.

    What is referred to was read when it was copied. Raises BatchNotRestorableError, MovedError.
    """
    state = [name for name in chosen.names if name.startswith(f"{layout.STATE}/") and copier.is_own(name)]
    small = [name for name in state if copier.held[name].size <= _READ_BACK_UP_TO]

    def read_back(name: str) -> Iterator[bytes]:
        yield copier.read(name)

    broken = broken_state_files(view, small, copier.read, read_back, threads, by_checksum=False)
    if not broken:
        return chosen
    if observe(checkpoint).latest_committed != chosen.batch_id:
        raise MovedError
    chosen = require(drive(restart_set(view, chosen.batch_id, decompressors(), broken), copier.read), view)
    in_parallel(copier.add, [name for name in chosen.names if name not in copier.held], threads)
    return chosen


@contextmanager
def _meanwhile(action: Callable[[], None]) -> Iterator[None]:
    """Let something that waits for a disk run beside the body, and wait for it in the end."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(action)
        yield
        running.result()


def _require_same(names: Iterable[str], before: Mapping[str, StoredObject], now: Mapping[str, StoredObject]) -> None:
    """Log entries were copied between two listings, which must show the same."""
    for name in names:
        if name in before and name in now and now[name].identity not in ("", before[name].identity):
            raise MovedError


def _require_unchanged(checkpoint: Store, copier: Copier, plan: BackupPlan) -> None:
    """List again what something was copied from, beside the log entries; of a local disk those directories alone.

    Raises MovedError.
    """
    logs = log_entries(plan.view, plan.chosen.batch_id)
    own = [name for name in plan.chosen.names if copier.is_own(name)]
    directories = sorted({name.rpartition("/")[0] for name in set(own) - set(logs)})
    if directories and not checkpoint.is_local:
        now = checkpoint.find()
    else:
        now = {name: stored for directory in directories for name, stored in checkpoint.ls(directory)[0].items()}
    copier.require_unchanged(own, now)


def _newest_committed(view: CheckpointView) -> int:
    if view.latest_committed is None:
        raise CheckpointNotFoundError(
            "no batch is committed yet, so there is nothing to back up.", location=view.location
        )
    return view.latest_committed


@dataclass(frozen=True, slots=True)
class _Words:
    """What the manifest says beside the facts of the batch."""

    tags: Sequence[str]
    message: str
    changed: tuple[str, ...]


def _manifest(backup_id: str, plan: BackupPlan, copier: Copier, at_ms: int, words: _Words) -> Manifest:
    view, batch_id = plan.view, plan.chosen.batch_id
    unknown = [name for name in plan.beside.unknown if name in copier.held]
    objects = tuple(copier.manifest_object(name, words.changed) for name in (*plan.chosen.names, *unknown))
    offsets, commit = view.offset_seq(batch_id), view.commit(batch_id)
    metadata = offsets.metadata
    facts = {
        "tool_version": __version__,
        "offset_log_version": offsets.version,
        "commit_log_version": commit.version,
        "state_provider": (metadata.conf.get(STATE_PROVIDER) if metadata else None) or "",
        "tags": sorted(set(words.tags)),
        "message": words.message,
        "unknown": unknown,
        "unknown_changed": list(words.changed),
    }
    watermark_ms = metadata.batch_watermark_ms if metadata else None
    return Manifest(backup_id, view.location, view.query_id or "", batch_id, at_ms, watermark_ms, objects, facts)


def _finish(root: Store, taken: Manifest) -> Manifest:
    """Write the manifest, unless the backup was taken for a killed one meanwhile and swept away."""
    data = taken.encode()
    root.create(f"{taken.backup_id}/{MANIFEST}", data)
    intent = f"{taken.backup_id}/{INTENT}"
    if intent not in root.ls(taken.backup_id)[0]:
        root.delete(f"{taken.backup_id}/{MANIFEST}")
        raise CheckpointBusyError(
            "the backup took longer than the grace period of a prune, which has removed it.",
            location=root.location,
            name=taken.backup_id,
            hint="Give `ckpt prune` a longer --grace.",
        )
    root.flush()
    root.delete(intent)
    return taken
