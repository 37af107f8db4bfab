"""Looking at a checkpoint: listings and a few reads, no change."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from itertools import count
from threading import Event, Lock
from typing import TypeVar

from tenacity import retry, retry_if_exception_type, stop_after_attempt

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_log import InitialOffset
from airflow_provider_ckpt.compression import decompressors
from airflow_provider_ckpt.contents import listed_shortly
from airflow_provider_ckpt.errors import CheckpointFormatError, CheckpointNotFoundError, PlanError
from airflow_provider_ckpt.lifecycle.listing import Look, list_logs, list_tree, look_at
from airflow_provider_ckpt.lifecycle.lookalikes import what_it_is
from airflow_provider_ckpt.objects import StoredObject
from airflow_provider_ckpt.restart_set import Reads, RestartSet, restart_set
from airflow_provider_ckpt.store import Store
from airflow_provider_ckpt.view import CheckpointView, batch_ids

Result = TypeVar("Result")
#: Called with the steps done, all steps, and the object at hand; from any thread, never from two at once.
OnStep = Callable[[int, int, str], None]


class _VanishedError(CheckpointNotFoundError):
    """An entry that was listed was gone when it was read."""


def no_step(done: int, total: int, name: str) -> None:
    """Nobody watches."""


def now_ms() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000


def observe(
    store: Store, *, deep: bool = False, batch_id: int | None = None, look: Look | None = None
) -> CheckpointView:
    """Look at a checkpoint without changing it.

    Args:
        store: Where it is.
        deep: List everything, state and source logs included; otherwise the two logs and what is at the top.
        batch_id: Also read the log entries that a restart after this batch needs.
        look: A first look that was just taken, and need not be taken again.

    Raises:
        CheckpointNotFoundError: Nothing there, or no checkpoint.
        StoreError: The storage refused or did not answer.
    """
    if look is not None:
        with suppress(_VanishedError):
            return _observe_once(store, deep, batch_id, look)
    return _observe(store, deep, batch_id)


@retry(retry=retry_if_exception_type(_VanishedError), stop=stop_after_attempt(4), reraise=True)
def _observe(store: Store, deep: bool, batch_id: int | None) -> CheckpointView:
    return _observe_once(store, deep, batch_id, look_at(store))


def _observe_once(store: Store, deep: bool, batch_id: int | None, look: Look) -> CheckpointView:
    look = list_logs(store, look)
    _require_checkpoint(store, look)
    objects = look.objects
    try:
        entries, damaged = decode_entries(store, _entries_to_read(objects, batch_id), store.read)
    except CheckpointNotFoundError as error:  # Spark purged it after it was listed: look again
        raise _VanishedError(error.message, location=error.location, name=error.name) from error
    folders = {name for name in look.directories if name not in layout.TOP_DIRECTORIES}
    if deep:
        found, directories = list_tree(store)
        objects = {**objects, **found}
        folders.update(name for name in directories if isinstance(layout.parse(name), _FILES))
    linked = {name for name in look.directories if "/" not in name and store.is_link(name)}
    objects = {**objects, **{name: StoredObject(name, 0, None, "", True) for name in linked}}
    return CheckpointView(
        store.location,
        look.looked_at_ms,
        objects,
        entries,
        damaged,
        deep,
        bool(look.stateful),
        folders=tuple(sorted(folders - linked)),
    )


#: What is a file, and no directory, in a checkpoint that is whole.
_FILES = (
    layout.QueryMetadataFile,
    layout.LogEntry,
    layout.SourceLogEntry,
    layout.StateFile,
    layout.StateTable,
    layout.StateSchemaFile,
    layout.OperatorMetadataFile,
)


def refuse_links(view: CheckpointView) -> None:
    """Raise PlanError when there are links in a checkpoint: behind one may stand what is none of it."""
    if view.links:
        raise PlanError(
            "is a link, and whatever follows it may copy or remove what is not of this checkpoint.",
            location=view.location,
            name=view.links[0],
            hint=f"Put in its place what it leads to. Links here: {listed_shortly(view.links)}.",
        )


def _require_checkpoint(store: Store, look: Look) -> None:
    seen = {name.partition("/")[0] for name in look.objects} | look.directories
    like = what_it_is({name for name in look.objects if "/" not in name}, look.directories)
    if seen & {layout.OFFSETS, layout.COMMITS, layout.METADATA} and like is None:
        return
    if like is not None:
        message, hint = like
        raise CheckpointNotFoundError(f"no checkpoint, but {message}.", location=store.location, hint=hint)
    if not seen:
        problem = "is empty" if store.exists() else "does not exist"
        hint = "Give the checkpointLocation of the query, the directory that holds offsets/ and commits/."
        raise CheckpointNotFoundError(f"the location {problem}.", location=store.location, hint=hint)
    found = ", ".join(sorted(seen)[:5])
    raise CheckpointNotFoundError(
        f"no checkpoint: neither offsets/ nor commits/ nor metadata is here, but {found}.",
        location=store.location,
        hint="Give the checkpointLocation of the query.",
    )


def _entries_to_read(objects: Mapping[str, StoredObject], batch_id: int | None) -> list[str]:
    """The newest two offset entries, the newest commit, the metadata, and the same around a batch asked for."""
    planned, committed = batch_ids(objects, layout.OFFSETS), batch_ids(objects, layout.COMMITS)
    up_to = planned if batch_id is None else [batch for batch in planned if batch <= batch_id]
    offsets = {*planned[-2:], *committed[-1:], *up_to[-2:]}
    commits = {*committed[-1:], *(() if batch_id is None else (batch_id,))}
    names = {*map(layout.offset_entry, offsets), *map(layout.commit_entry, commits), layout.METADATA}
    return sorted(names & objects.keys())


def decode_entries(
    store: Store, names: Iterable[str], read: Callable[[str], bytes]
) -> tuple[dict[str, codec.Encodable], dict[str, CheckpointFormatError]]:
    """Read and decode files: those that could be decoded, and the errors of those that could not."""
    entries: dict[str, codec.Encodable] = {}
    damaged: dict[str, CheckpointFormatError] = {}
    for name in names:
        try:
            entries[name] = codec.decode(name, read(name))
        except CheckpointFormatError as error:
            error.at(store.location)
            damaged[name] = error
    return entries, damaged


def read_entries(
    store: Store, batches: Iterable[int]
) -> tuple[dict[str, codec.Encodable], dict[str, CheckpointFormatError]]:
    """Read the offset and commit entries of some batches; what is not there is left out."""
    found = {**store.ls(layout.OFFSETS)[0], **store.ls(layout.COMMITS)[0]}
    names = [name for batch in batches for name in (layout.offset_entry(batch), layout.commit_entry(batch))]
    return decode_entries(store, [name for name in names if name in found], store.read)


def read_initial_offsets(store: Store, first: codec.Encodable | None) -> OffsetSeq | None:
    """Where the sources of the first batch began, as far as they have written that down; None when none has.

    Kafka and its relatives do, in ``sources/<id>/0``.
    """
    if not isinstance(first, OffsetSeq):
        return None
    kept = set(store.ls(layout.SOURCES)[1])
    folders = [f"{layout.SOURCES}/{source_id}" for source_id, _ in first.offsets]
    names = {folder.rpartition("/")[2]: f"{folder}/0" for folder in folders if folder in kept}
    there = [name for name in names.values() if name in store.ls(name.rpartition("/")[0])[0]]
    entries, _ = decode_entries(store, there, store.read)
    found = {source_id: entries.get(name) for source_id, name in names.items()}
    offsets = {source_id: entry.offset for source_id, entry in found.items() if isinstance(entry, InitialOffset)}
    return OffsetSeq(first.version, None, tuple(offsets.items())) if offsets else None


def find_restart_set(
    store: Store, view: CheckpointView, batch_id: int, broken: Mapping[str, str] | None = None
) -> RestartSet:
    """The files that a restart after one batch needs, and what is missing of them. Reads state files alone.

    ``broken`` are state files that are known to be of no use, and why.
    """
    return drive(restart_set(view, batch_id, decompressors(), broken or {}), store.head)


def drive(reads: Reads[Result], read: Callable[[str], bytes]) -> Result:
    """Run a computation that asks for the bytes of objects."""
    try:
        name = next(reads)
        while True:
            name = reads.send(read(name))
    except StopIteration as stop:
        result: Result = stop.value
        return result


def restorable_batches(store: Store, view: CheckpointView, near: int, limit: int = 5) -> tuple[int, ...]:
    """Up to ``limit`` committed batches that a restart is possible after, looked for near one; ascending."""
    found: list[int] = []
    for batch_id in sorted(view.committed, key=lambda batch: abs(batch - near)):
        look = observe(store, deep=True, batch_id=batch_id)
        if not find_restart_set(store, look, batch_id).missing:
            found.append(batch_id)
        if len(found) == limit:
            break
    return tuple(sorted(found))


def in_parallel(
    function: Callable[[str], Result], names: Sequence[str], threads: int, on_step: OnStep = no_step
) -> list[Result]:
    """Call a function for each name on a few threads; results in order, the first error ends it."""
    results: dict[str, Result] = {}
    todo, done, stopped, telling = iter(names), count(1), Event(), Lock()

    def work() -> None:
        for name in todo:
            results[name] = function(name)
            with telling:
                on_step(next(done), len(names), name)
            if stopped.is_set():
                return

    with ThreadPoolExecutor(threads) as pool:
        workers = [pool.submit(work) for _ in range(min(threads, len(names)))]
        try:
            for worker in as_completed(workers):
                worker.result()
        finally:
            stopped.set()
    return [results[name] for name in names]
