"""Backups: taken while the query runs; ``catalog`` finds them, ``verify`` reads them back.

A backup is a directory ``<root>/<backup id>/`` with the checkpoint's files under ``checkpoint/`` and a
``manifest.json`` that is written last: without it there is no backup. Batch N is the newest committed one. Its log
entries, which Spark purges first, are copied before anything else is listed; when Spark purges or rewrites a file in
between, the copy starts again with the then newest batch and keeps what it already has.

Whatever else is in the checkpoint, and has no reason to be left out, is copied last (see
``checkpoint/contents.py``) and listed again after that. Where it changes meanwhile it is copied anew; what
keeps changing is in the backup, whole file by whole file, and the manifest says that it may be of another moment.

A backup is incremental: a file that the newest backup of the same query and location has, by name, size and identity,
is referred to where it lies. Backups and :mod:`prunes <airflow_provider_ckpt.backup.prune>` of one root may run at
the same time, because each side first says what it does and then reads what the other one said:

* A backup writes ``intent.json``, which names the backup that it may refer to, its *base*. Only then it reads the
  manifest of the base; when that has gone, there is no base. Before the manifest is written everything referred to is
  seen to exist. After that the intent must still be there, and is deleted.
* A prune takes the manifest of a dropped backup away. Only then it reads the intents, and spares what their bases name.

So either the backup sees that its base has gone, or the prune sees that it is in use. A directory that has no manifest
is of a backup under way as long as the youngest object in it is younger than the grace period of the prune.
One hole is left: a backup that outlasts the grace period, and is killed after its manifest was written and before its
intent was read, may name what a prune has swept. ``ckpt verify`` finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from shlex import quote

from airflow_provider_ckpt import __version__
from airflow_provider_ckpt.backup import manifest
from airflow_provider_ckpt.backup.copier import Copier, MovedError, copies_at_once, refuse_too_large
from airflow_provider_ckpt.backup.declare import claim_id, declare_base, nothing_left
from airflow_provider_ckpt.backup.manifest import Manifest, Words
from airflow_provider_ckpt.backup.patience import COMMIT_WAIT_S, Patience, require_restorable
from airflow_provider_ckpt.checkpoint.contents import Contents, contents, unknown_names
from airflow_provider_ckpt.checkpoint.find_restart_set import find_restart_set
from airflow_provider_ckpt.checkpoint.listing import find_objects, find_own
from airflow_provider_ckpt.checkpoint.observe import decode_entries, observe, refuse_closed, refuse_links
from airflow_provider_ckpt.checkpoint.own_files import DATA, INTENT, MANIFEST
from airflow_provider_ckpt.checkpoint.read_unmoved import read_unmoved
from airflow_provider_ckpt.checkpoint.restart_set import RestartSet, log_entries, require, restart_set
from airflow_provider_ckpt.checkpoint.spark_confs import STATE_PROVIDER
from airflow_provider_ckpt.checkpoint.state.decompressors import decompressors
from airflow_provider_ckpt.checkpoint.view import CheckpointView, has_state
from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.checks.inspect import read_text_logs, with_restart_set, without_broken_files
from airflow_provider_ckpt.checks.read_state_files import checksum_of_state, is_judged
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import (
    BatchNotRestorableError,
    CheckpointBusyError,
    CheckpointMovedError,
    CheckpointNotFoundError,
    PlanError,
)
from airflow_provider_ckpt.storage.concurrency import OnStep, in_parallel, no_step
from airflow_provider_ckpt.storage.packed import PackedObjects
from airflow_provider_ckpt.storage.requests import drive
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject

#: How often a backup begins anew because Spark purged a file under it.
ATTEMPTS = 8
#: How often it begins anew because files that nobody knows changed under it.
UNKNOWN_ATTEMPTS = 4
#: What a quick backup says that it did not judge.
NOT_READ = "what is in the state files, which a quick backup does not read"


# --- taking --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BackupPlan:
    """Plan of a backup: the files that it would copy.

    Args:
        view: The whole checkpoint.
        chosen: The restart set of the newest committed batch.
        beside: The other files: unknown and kept, or left out and why.
    """

    view: CheckpointView
    chosen: RestartSet
    beside: Contents

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that is copied, in order."""
        return (*self.chosen.names, *self.beside.unknown)


def plan_of_backup(checkpoint: Store, root: Store) -> BackupPlan:
    """Plan what a backup into a root would copy right now.

    Raises:
        BatchNotRestorableError: Files are missing.
        CheckpointNotFoundError: No checkpoint, or no batch is committed.
        PlanError: There are links in the checkpoint, or names that no backup can hold; or the root is inside it.
        CheckpointMovedError: Spark purged what had just been listed, at every try.
    """
    require_apart(checkpoint, root, "The backup root")
    return read_unmoved(lambda: _plan_of_newest(checkpoint), checkpoint)


def _plan_of_newest(checkpoint: Store) -> BackupPlan:
    batch_id = _newest_committed(observe(checkpoint))
    view = observe(checkpoint, deep=True, batch_id=batch_id)
    refuse_links(view, beside=False)
    refuse_closed(view)
    chosen = require(find_restart_set(checkpoint, view, batch_id), view, _hint_to_check(view))
    chosen = without_broken_files(view, chosen, checkpoint.head, checkpoint.chunks)
    plan = _planned(view, require(chosen, view, _hint_to_check(view)))
    _require_sound(plan, _errors_of(checkpoint, plan, checkpoint.head, checkpoint.chunks))
    return plan


def _planned(view: CheckpointView, chosen: RestartSet) -> BackupPlan:
    plan = BackupPlan(view, chosen, contents(view, chosen.batch_id, chosen.names, can_hold=manifest.is_inside))
    manifest.require_names(plan.names, view.location)
    return plan


def take_backup(
    checkpoint: Store,
    root: Store,
    *,
    full: bool = False,
    quick: bool = False,
    tags: str | Collection[str] = (),
    message: str = "",
    asked_by: str = "",
    threads: int | None = None,
    commit_wait_s: float = COMMIT_WAIT_S,
    on_step: OnStep = no_step,
) -> Manifest:
    """Copy the files that a restart after the newest committed batch needs, also while the query runs.

    What is not known inside the checkpoint is copied as well (see ``checkpoint/contents.py``).

    Args:
        checkpoint: The checkpoint.
        root: Location of the backup root; the new backup gets its own directory in it.
        full: Copy every file, also those that an earlier backup has; Spark can then start from the backup's directory.
        quick: Do not read state files to judge them, so that S3 copies them by itself. The manifest says so; a
            verify, a restore and the next backup that is not quick judge them.
        tags: Names that a retention policy can keep a backup for; one text is one tag.
        message: Why it is taken, for people.
        asked_by: Who asks for it, and for what, so that they find it again (see ``find_taken``); empty for nobody.
        threads: How many files are copied in parallel; by default few on a local disk.
        commit_wait_s: How long to wait for the commit of a running batch, when Spark has purged what the batch before
            it needs (``minBatchesToRetain=1``).
        on_step: Called after each object.

    Raises:
        BatchNotRestorableError: Files are missing although nothing is being purged.
        CheckpointBusyError: Spark purged files faster than they could be copied, ATTEMPTS times; or the backup took
            longer than the grace period of a prune, which has removed it.
        PlanError: The root is inside the checkpoint or the other way round; there are links in the checkpoint, or
            names that no backup can hold; or a tag or the message is no text.
    """
    words = Words.of(checkpoint.location, tags, message, quick=quick, asked_by=asked_by)
    require_apart(checkpoint, root, "The backup root")
    threads = threads or copies_at_once(checkpoint, root)
    query_id, others = observe(checkpoint).query_id, root.ls()[1]
    started_ms, backup_id = claim_id(root, others, query_id or "no-id")
    with nothing_left(root, backup_id):
        base = None if full or not query_id else declare_base(root, others, backup_id, query_id, checkpoint.location)
        copier = Copier(checkpoint, root, f"{backup_id}/{DATA}", base)
        patience = Patience(checkpoint, commit_wait_s)
        plan, changed = _fill(checkpoint, copier, patience, threads, on_step, quick=words.quick)
        taken = _manifest(backup_id, plan, copier, started_ms, words, changed)
    return _finish(root, taken)


def _fill(
    checkpoint: Store, copier: Copier, patience: Patience, threads: int, on_step: OnStep, *, quick: bool
) -> tuple[BackupPlan, tuple[str, ...]]:
    """Copy until everything is of one moment: what was copied, and what unknown files changed meanwhile."""
    for attempt in range(ATTEMPTS):
        try:
            plan = patience.until_committed(lambda: _copy_newest(checkpoint, copier, threads, on_step, quick=quick))
            with _meanwhile(copier.flush):
                _require_unchanged(checkpoint, copier, plan.view, plan.chosen)
                changed = _copy_unknown(checkpoint, copier, plan, threads, on_step)
                if changed and attempt < UNKNOWN_ATTEMPTS - 1:
                    continue
                copier.keep_only(plan.names)
            copier.flush()
        except (MovedError, CheckpointMovedError):
            continue
        return plan, changed
    raise CheckpointBusyError(
        f"no consistent copy in {ATTEMPTS} attempts: Spark purges files faster than they can be copied.",
        location=checkpoint.location,
        hint="Raise spark.sql.streaming.minBatchesToRetain, or back up to a faster storage.",
    )


def require_apart(one: Store, other: Store, what: str) -> None:
    """Raise PlanError when one location is another, or inside it, or around it."""
    if one.is_within(other) or other.is_within(one):
        raise PlanError(
            f"{what} {other.location} and this location must not overlap: one is inside the other.",
            location=one.location,
            hint="Nothing was done. Choose a location outside of it.",
        )


def _copy_newest(checkpoint: Store, copier: Copier, threads: int, on_step: OnStep, *, quick: bool) -> BackupPlan:
    """One attempt: choose the batch from the commit log, copy its log entries, then list the rest and take that in."""
    started = observe(checkpoint)
    refuse_closed(started)
    batch_id = _newest_committed(started)
    logs = log_entries(started, batch_id)
    for name in logs:
        if name in started.objects:
            refuse_too_large(checkpoint, name, started.objects[name].size)
    copier.copy_anew(logs)
    entries, damaged = decode_entries(checkpoint, [name for name in logs if name in copier.held], copier.read)
    copied = copier.objects(logs)  # an entry may be purged by now: then it is known as it was listed before
    before = {name: started.objects.get(name, stored) for name, stored in copied.items()}
    listed, inside = find_own(checkpoint)
    objects = {**before, **listed}
    copier.use_listing(objects)
    _require_same(logs, started.objects, objects)
    view = CheckpointView(checkpoint.location, now_ms(), objects, entries, damaged, complete=True, inside=inside)
    refuse_links(view, beside=False)
    chosen = drive(restart_set(view, batch_id, decompressors()), copier.read)
    if chosen.missing and observe(checkpoint).latest_committed != batch_id:
        raise MovedError
    _planned(view, require_restorable(chosen, view, _hint_to_check(view)))
    copier.refer(chosen.names)
    rest = [name for name in chosen.names if name not in copier.held and (quick or not is_judged(view, name))]
    in_parallel(copier.add, rest, threads, on_step)
    if not quick:
        chosen = _without_broken_files(checkpoint, view, chosen, copier, threads, on_step)
    copier.mend_references(lambda function, names: in_parallel(function, names, threads))
    plan = _planned(view, chosen)
    judged = [name for name in chosen.names if copier.is_known((name,))]
    if errors := _errors_of(checkpoint, plan, copier.read, copier.chunks, judged):
        _require_one_moment(checkpoint, copier, view, chosen)
        _require_sound(plan, errors)
    return plan


def _copy_unknown(
    checkpoint: Store, copier: Copier, plan: BackupPlan, threads: int, on_step: OnStep
) -> tuple[str, ...]:
    """Copy what is not known, and list it again.

    Returns:
        What was changed, added or removed between the two listings; what was removed before it was copied is not held.
    """
    if not (names := plan.beside.unknown):
        return ()
    in_parallel(copier.try_add, names, threads, on_step)
    copier.mend_references(lambda function, lost: in_parallel(function, lost, threads))
    now = find_objects(checkpoint)
    added = set(unknown_names(replace(plan.view, objects=now))) - plan.view.objects.keys()
    return tuple(sorted({*copier.changed(names, now), *added}))


def _without_broken_files(
    checkpoint: Store, view: CheckpointView, chosen: RestartSet, copier: Copier, threads: int, on_step: OnStep
) -> RestartSet:
    """Copy the state and judge it as `ckpt check --deep` does, and choose anew when a file is not whole.

    What is referred to was judged when it was copied. Raises BatchNotRestorableError, MovedError.
    """
    judged = [name for name in chosen.names if copier.is_known((name, checksum_of_state(view, name)))]
    whole = without_broken_files(view, chosen, copier.read, copier.chunks, threads, judged=judged, on_step=on_step)
    if whole is not chosen:
        _require_one_moment(checkpoint, copier, view, chosen)
        require(whole, view, _hint_to_check(view))
    in_parallel(copier.add, [name for name in whole.names if name not in copier.held], threads)
    return whole


def _errors_of(
    checkpoint: Store,
    plan: BackupPlan,
    read: Callable[[str], bytes],
    chunks: Callable[[str], Iterator[bytes]],
    judged: Collection[str] = (),
) -> list[Finding]:
    """The errors that `ckpt verify` would find in the backup; the state was judged when it was chosen."""
    names = [name for name in plan.chosen.names if isinstance(layout.parse(name), layout.SourceFile)]
    objects = {name: plan.view.objects[name] for name in plan.names}
    held = replace(plan.view, objects=objects, folders=(), stateful=has_state(objects))
    view = read_text_logs(checkpoint, held, [name for name in names if name not in judged], read, chunks)
    return [found for found in check(with_restart_set(view, plan.chosen)) if found.severity == "error"]


def _require_sound(plan: BackupPlan, errors: Sequence[Finding]) -> None:
    if not errors:
        return
    more = f" There are {len(errors) - 1} more errors." if len(errors) > 1 else ""
    raise BatchNotRestorableError(
        f"batch {plan.chosen.batch_id} cannot be backed up: {errors[0].message}.{more}",
        location=plan.view.location,
        name=errors[0].name,
        batch_id=plan.chosen.batch_id,
        hint=_hint_to_check(plan.view),
    )


def _hint_to_check(view: CheckpointView) -> str:
    return (
        f"No backup was taken; earlier backups are kept. `ckpt check {quote(view.location)} --deep` shows every "
        "finding, and "
        "what to do."
    )


def _require_one_moment(checkpoint: Store, copier: Copier, view: CheckpointView, chosen: RestartSet) -> None:
    """Raise MovedError if files that were found broken may only have changed while they were copied."""
    if observe(checkpoint).latest_committed != chosen.batch_id:
        raise MovedError
    _require_unchanged(checkpoint, copier, view, chosen)


@contextmanager
def _meanwhile(action: Callable[[], None]) -> Iterator[None]:
    """Run a function that waits for a disk beside the body of the ``with``, and wait for its end."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(action)
        try:
            yield
        finally:
            running.result()


def _require_same(names: Iterable[str], before: Mapping[str, StoredObject], now: Mapping[str, StoredObject]) -> None:
    """Log entries were copied between two listings, which must show the same."""
    for name in names:
        if name in before and name in now and now[name].identity not in ("", before[name].identity):
            raise MovedError


def _require_unchanged(checkpoint: Store, copier: Copier, view: CheckpointView, chosen: RestartSet) -> None:
    """List again what something was copied from, and the log entries; of a local disk those directories alone.

    Raises MovedError.
    """
    own = [name for name in chosen.names if copier.is_own(name)]
    directories = sorted({name.rpartition("/")[0] for name in own})
    now = PackedObjects()
    if directories and not checkpoint.is_local:
        now = find_objects(checkpoint)
    else:
        for directory in directories:
            now.add(checkpoint.ls(directory)[0].values())
    copier.require_unchanged(own, now)


def _newest_committed(view: CheckpointView) -> int:
    if view.latest_committed is None:
        raise CheckpointNotFoundError(
            "no batch is committed yet, so there is nothing to back up.", location=view.location
        )
    return view.latest_committed


def _manifest(
    backup_id: str, plan: BackupPlan, copier: Copier, at_ms: int, words: Words, changed: tuple[str, ...]
) -> Manifest:
    view, batch_id = plan.view, plan.chosen.batch_id
    unknown = [name for name in plan.beside.unknown if name in copier.held]
    objects = tuple(copier.manifest_object(name, changed) for name in (*plan.chosen.names, *unknown))
    offsets, commit = view.offset_seq(batch_id), view.commit(batch_id)
    metadata = offsets.metadata
    facts = {
        "tool_version": __version__,
        "offset_log_version": offsets.version,
        "commit_log_version": commit.version,
        "state_provider": (metadata.conf.get(STATE_PROVIDER) if metadata else None) or "",
        "tags": sorted(set(words.tags)),
        "message": words.message,
        "asked_by": words.asked_by,
        # what was not read or is known to be broken is judged again by the next backup
        "judged": not words.quick and not plan.chosen.repaired,
        "unknown": unknown,
        "unknown_changed": list(changed),
        "not_judged": [*plan.chosen.unknown, *([NOT_READ] if words.quick else []), *plan.beside.odd_texts],
    }
    return Manifest(
        backup_id=backup_id,
        location=view.location,
        query_id=view.query_id or "",
        batch_id=batch_id,
        created_at_ms=at_ms,
        watermark_ms=metadata.batch_watermark_ms if metadata else None,
        objects=objects,
        facts=facts,
    )


def _finish(root: Store, taken: Manifest) -> Manifest:
    """Write the manifest, unless the backup was taken for a killed one meanwhile and swept away."""
    data = taken.encode()
    root.create(f"{taken.backup_id}/{MANIFEST}", data)
    intent = f"{taken.backup_id}/{INTENT}"
    if intent not in root.ls(taken.backup_id)[0]:
        root.delete(f"{taken.backup_id}/{MANIFEST}")
        raise CheckpointBusyError(
            "a prune has deleted this backup while it was taken, because it took longer than the grace period of "
            "the prune.",
            location=root.location,
            name=taken.backup_id,
            hint="Run `ckpt prune` with a longer --grace, and take the backup again.",
        )
    root.flush()
    root.delete(intent)
    return taken
