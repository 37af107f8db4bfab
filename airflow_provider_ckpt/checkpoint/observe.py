"""Reading a checkpoint: listings and a few reads, no change."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from shlex import quote

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.contents import listed_shortly
from airflow_provider_ckpt.checkpoint.inside import is_inside, without_inside
from airflow_provider_ckpt.checkpoint.listing import DirectoryListing, list_checkpoint, list_logs, list_tree
from airflow_provider_ckpt.checkpoint.read_unmoved import read_unmoved
from airflow_provider_ckpt.checkpoint.view import CheckpointView, batch_ids
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_log import InitialOffset
from airflow_provider_ckpt.errors import (
    CheckpointClosedError,
    CheckpointFormatError,
    CheckpointNotFoundError,
    PlanError,
)
from airflow_provider_ckpt.storage.drivers import unreachable
from airflow_provider_ckpt.storage.packed import PackedObjects
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject


def observe(
    store: Store,
    *,
    deep: bool = False,
    batch_id: int | None = None,
    listing: DirectoryListing | None = None,
    read: Callable[[str], bytes] | None = None,
) -> CheckpointView:
    """Read a checkpoint without changing it.

    Args:
        store: The directory of the checkpoint.
        deep: List everything, state and source logs included; otherwise the two logs and what is at the top.
        batch_id: Also read the log entries that a restart after this batch needs.
        listing: A first listing that was just taken, and need not be taken again.
        read: How files are read, where that is not as the store does.

    Raises:
        CheckpointNotFoundError: Nothing there, or no checkpoint.
        CheckpointMovedError: Spark purged what had just been listed, at every try.
        StoreError: The storage refused or did not answer.
    """
    taken = iter([] if listing is None else [listing])
    return read_unmoved(
        lambda: _observe_once(store, deep, batch_id, next(taken, None) or list_checkpoint(store), read or store.read),
        store,
    )


def _observe_once(
    store: Store, deep: bool, batch_id: int | None, listing: DirectoryListing, read: Callable[[str], bytes]
) -> CheckpointView:
    listing = list_logs(store, listing)
    require_checkpoint(store, listing)
    objects, inside = listing.objects, tuple[str, ...]()
    entries, damaged = decode_entries(store, _entries_to_read(objects, batch_id), read)
    folders = {name for name in listing.directories if name not in layout.TOP_DIRECTORIES}
    own: set[str] = {"", *(listing.directories & layout.TOP_DIRECTORIES)}
    if deep:
        found, directories = list_tree(store)
        found, inside = without_inside(found)
        directories = {name for name in directories if not is_inside(name, inside)}
        objects = found | {name: stored for name, stored in objects.items() if name not in found}
        folders.update(name for name in directories if isinstance(layout.parse(name), _FILES))
        own.update(directories)
        written_since = [name for name in _entries_to_read(objects, batch_id) if name not in {**entries, **damaged}]
        new_entries, new_damaged = decode_entries(store, written_since, read)
        entries, damaged = {**entries, **new_entries}, {**damaged, **new_damaged}
    if _before_the_first_commit(objects) and layout.SOURCES in listing.directories:
        entries = {**entries, **_initial_offsets(store, read)}
    unnamed = {} if deep else unreachable(listing.directories, store.fs)
    unnamed = {name: odd for name, odd in unnamed.items() if not any(each.startswith(name) for each in objects)}
    linked = {name for name in listing.directories if "/" not in name and store.can_name(name) and store.is_link(name)}
    odd = {**unnamed, **{name: StoredObject(name, 0, None, "", True) for name in linked}}
    objects = objects | odd if isinstance(objects, PackedObjects) else {**objects, **odd}
    return CheckpointView(
        location=store.location,
        observed_at_ms=listing.listed_at_ms,
        objects=objects,
        entries=entries,
        damaged=damaged,
        complete=deep,
        stateful=bool(listing.stateful),
        directories=store.access_of_directories(sorted(own)),
        folders=tuple(sorted(filter(store.can_name, folders - linked))),
        inside=inside,
    )


#: What is a file, and no directory, in a checkpoint that is whole.
_FILES = (
    layout.QueryMetadataFile,
    layout.LogEntry,
    layout.SourceLogEntry,
    layout.InitialOffsetFile,
    layout.StateFile,
    layout.StateTable,
    layout.StateSchemaFile,
    layout.OperatorMetadataFile,
)


def refuse_links(view: CheckpointView, *, beside: bool = True) -> None:
    """Raise PlanError when there are links in a checkpoint: behind one may be what is none of it.

    Without ``beside``, links are fine where Spark has nothing.
    """
    links = [name for name in view.links if beside or _is_of_spark(name)]
    if links:
        raise PlanError(
            "this checkpoint contains a link; to follow it could copy or remove files of something else.",
            location=view.location,
            name=links[0],
            hint="Replace the link with the files that it points to. Links in this checkpoint: "
            f"{listed_shortly(links)}.",
        )


def _is_of_spark(name: str) -> bool:
    """True if a name is one of Spark's, or in one of its directories."""
    return name.partition("/")[0] in (*layout.TOP_DIRECTORIES, layout.METADATA, layout.SINK_LOG)


def refuse_closed(view: CheckpointView) -> None:
    """Raise CheckpointClosedError for a checkpoint in the midst of a change, which fits neither itself nor any plan."""
    if (error := closed_by(view)) is not None:
        raise CheckpointClosedError(error.message, location=view.location, name=error.name, hint=error.hint)


def closed_by(view: CheckpointView) -> CheckpointClosedError | None:
    """The error of a checkpoint that a change has closed; None for any other checkpoint."""
    return next((error for error in view.damaged.values() if isinstance(error, CheckpointClosedError)), None)


def without_closing(view: CheckpointView) -> CheckpointView:
    """The same checkpoint without the entry that closes it."""
    closing = {name for name, error in view.damaged.items() if isinstance(error, CheckpointClosedError)}
    kept = {name: stored for name, stored in view.objects.items() if name not in closing}
    return replace(view, objects=kept, damaged={name: view.damaged[name] for name in view.damaged.keys() - closing})


def require_checkpoint(store: Store, listing: DirectoryListing) -> None:
    """Raise CheckpointNotFoundError, which says what is there instead, for a listing of what is no checkpoint."""
    seen = {name.partition("/")[0] for name in listing.objects} | listing.directories
    like = what_it_is({name for name in listing.objects if "/" not in name}, listing.directories)
    if seen & {layout.OFFSETS, layout.COMMITS, layout.METADATA} and like is None:
        return
    if like is not None:
        message, hint = like
        raise CheckpointNotFoundError(f"this is not a checkpoint, but {message}.", location=store.location, hint=hint)
    if not seen:
        problem = "is empty" if store.exists() else "does not exist"
        hint = (
            "Give the checkpointLocation of the query, the directory that holds offsets/ and commits/. A new query "
            "makes it at its first start. If the query had a checkpoint here and it was lost, restore it from a "
            f"backup: ckpt restore ROOT latest --to {quote(store.location)}."
        )
        raise CheckpointNotFoundError(f"the location {problem}.", location=store.location, hint=hint)
    found = ", ".join(sorted(seen)[:5])
    raise CheckpointNotFoundError(
        f"this is not a checkpoint: it has neither offsets/ nor commits/ nor metadata, but {found}.",
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


#: So many bytes tell the form of a file.
_HEAD_BYTES = 64


def decode_entries(
    store: Store, names: Iterable[str], read: Callable[[str], bytes]
) -> tuple[dict[str, codec.Encodable], dict[str, CheckpointFormatError]]:
    """Read and decode files: those that could be decoded, and the errors of those that could not."""
    entries: dict[str, codec.Encodable] = {}
    damaged: dict[str, CheckpointFormatError] = {}
    for name in names:
        data = b""
        try:
            data = read(name)
            entries[name] = codec.decode(name, data)
        except CheckpointFormatError as error:
            error.head = data[:_HEAD_BYTES]
            error.at(store.location)
            error.__context__ = None  # there may be very many of them, and what raised one holds its data
            damaged[name] = error.with_traceback(None)
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

    Kafka and its relatives do, in ``sources/<id>/0``, and Iceberg in ``sources/<id>/offsets/0``.
    """
    if not isinstance(first, OffsetSeq):
        return None
    kept = set(store.ls(layout.SOURCES)[1])
    ids = [source_id for source_id, _ in first.offsets if f"{layout.SOURCES}/{source_id}" in kept]
    names = {source_id: _initial_offset(store, source_id) for source_id in ids}
    entries, _ = decode_entries(store, [name for name in names.values() if name], store.read)
    found = {source_id: entries.get(name) for source_id, name in names.items()}
    offsets = {source_id: entry.offset for source_id, entry in found.items() if isinstance(entry, InitialOffset)}
    return OffsetSeq(first.version, None, tuple(offsets.items())) if offsets else None


def _before_the_first_commit(objects: Mapping[str, StoredObject]) -> bool:
    return not batch_ids(objects, layout.COMMITS) and not any(batch_ids(objects, layout.OFFSETS))


def _initial_offsets(store: Store, read: Callable[[str], bytes]) -> dict[str, codec.Encodable]:
    """Read the initial offsets that sources have recorded, which count until the first batch is committed.

    A file that cannot be read is a finding of a whole check.
    """
    names = [_initial_offset(store, folder.rpartition("/")[2]) for folder in store.ls(layout.SOURCES)[1]]
    found, _ = decode_entries(store, [name for name in names if name], read)
    return {name: entry for name, entry in found.items() if isinstance(entry, InitialOffset)}


def _initial_offset(store: Store, source_id: str) -> str:
    """The file in which a source has written down where it began; empty where there is none."""
    folder = f"{layout.SOURCES}/{source_id}"
    objects, folders = store.ls(folder)
    if f"{folder}/0" in objects:
        return f"{folder}/0"
    name = layout.initial_offset_file(source_id)
    inner = name.rpartition("/")[0]
    return name if inner in folders and name in store.ls(inner)[0] else ""


_CHECKPOINT = "Give the checkpointLocation of the query, the directory that holds offsets/ and commits/."
_SINK = "To judge a restart with this as the sink of the query: ckpt gate LOCATION --sink"
_BACKUP_ID = re.compile(r"\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{8}")
_DATA = (".parquet", ".orc", ".json", ".csv", ".avro", ".txt")


def what_it_is(objects: Collection[str], directories: Collection[str]) -> tuple[str, str] | None:
    """Say what a directory is that is not a checkpoint, and what to give instead; None if that cannot be told.

    Args:
        objects: Names of the objects at its top.
        directories: Names of the directories at its top.
    """
    if {layout.OFFSETS, layout.COMMITS} & set(directories):
        return None
    tables = {"_delta_log": ("a Delta table", "delta"), ".hoodie": ("a Hudi table", "hudi")}
    for directory, (table, sink) in tables.items():
        if directory in directories:
            return table, f"{_CHECKPOINT} {_SINK} {sink}:URI"
    if layout.METADATA in directories and "data" in directories:
        return "an Iceberg table", f"{_CHECKPOINT} {_SINK} iceberg:URI"
    if layout.SINK_LOG in directories:
        return (
            "the output directory of a file sink",
            f"{_CHECKPOINT} {_SINK} file:URI",
        )
    if "manifest.json" in objects and "checkpoint" in directories:
        return (
            "a backup",
            "Restore the backup (ckpt restore). If it is a full backup, you can also give its directory checkpoint.",
        )
    if any(_BACKUP_ID.fullmatch(name) for name in directories):
        return (
            "the root of backups",
            "ckpt backups lists the backups; ckpt restore writes one to a new checkpoint location.",
        )
    if any(name.endswith(_DATA) for name in objects) and layout.METADATA not in objects:
        return "a directory of data files", _CHECKPOINT
    return None
