"""Reading what a checkpoint tells of its query: a few small files, and nothing is written."""

from __future__ import annotations

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.find_inputs import on_one_storage
from airflow_provider_ckpt.checkpoint.input_files import base_name_of, directory_of
from airflow_provider_ckpt.checkpoint.listing import DirectoryListing
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.spark_confs import versions_of
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_log import FileSourceLog
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.graph.proven_types import Proof
from airflow_provider_ckpt.graph.read_types import read_types
from airflow_provider_ckpt.graph.stream import Stream, StreamSource, Taken
from airflow_provider_ckpt.query.paths import Paths, plain_place
from airflow_provider_ckpt.query.spark_version import version_text
from airflow_provider_ckpt.storage.store import Store

#: So much of the log of a file source is read, in bytes and files.
MOST_BYTES, MOST_FILES = 32 << 20, 2_000
#: Milliseconds between a time as Spark and as ckpt round it.
_ROUNDING_MS = 1
#: So many directories of partitions are compared with the log.
MOST_DIRECTORIES = 20


def read_stream(store: Store, listing: DirectoryListing | None, paths: Paths) -> Stream:
    """What a checkpoint tells of its query; one that cannot be read is an error in the result.

    Args:
        store: The checkpoint.
        listing: A listing of it that was just taken.
        paths: How locations in its logs are opened.
    """
    try:
        view = observe(store, listing=listing)
        newest = view.readable_offset_seq(view.latest_planned)
        return Stream(
            store.location,
            view.query_id,
            view.latest_committed,
            None if newest is None else _sources(store, view, newest, paths),
            view.planned_ms,
            view.committed_ms,
            *_confs(view, newest),
        )
    except CheckpointError as error:
        return Stream(store.location, error=str(error))


def _sources(store: Store, view: CheckpointView, newest: OffsetSeq, paths: Paths) -> tuple[StreamSource, ...]:
    proven = read_types(store, view)
    found = []
    for source_id, offset in newest.without_empty_lines().offsets:
        kind = proven.get(source_id)
        taken = _taken(store, source_id, paths) if kind is not None and kind.type == "file" else None
        found.append(
            StreamSource(
                source_id,
                offset,
                layout.offset_entry(view.latest_planned or 0),
                kind,
                taken,
                None if taken is None else _passed_over(store, taken, view.planned_at_ms),
            )
        )
    return tuple(found)


def _taken(store: Store, source_id: str, paths: Paths) -> Taken | None:
    """The files that the log of a source names now; None for a log that is too large or cannot be read."""
    try:
        objects = store.ls(f"{layout.SOURCES}/{source_id}")[0]
        entries = {place: name for name in objects if isinstance(place := layout.parse(name), layout.SourceLogEntry)}
        compacted = max((place.entry_id for place in entries if place.compact), default=-1)
        names = [
            name
            for place, name in entries.items()
            if place.entry_id > compacted or (place.compact and place.entry_id == compacted)
        ]
        if sum(objects[name].size for name in names) > MOST_BYTES or len(names) > MOST_FILES:
            return None
        logs = [codec.decode(name, store.read(name)) for name in names]
    except CheckpointError:
        return None
    files = [entry for log in logs if isinstance(log, FileSourceLog) for entry in log.entries]
    if not files:
        return None
    opened = [
        (plain_place(paths.opened(directory_of(entry.path))), base_name_of(entry.path), entry.timestamp_ms)
        for entry in files
    ]
    times_ms = {f"{directory}/{name}": at_ms for directory, name, at_ms in opened}
    return Taken(frozenset(directory for directory, _, _ in opened), times_ms)


def _passed_over(store: Store, taken: Taken, planned_ms: int | None) -> int | None:
    """Files that were in the directories before a batch, and that the log does not name; None when nobody can tell.

    A file source takes down when each file was last modified. Another source that keeps the same log, such as one that
    is told of files by a queue, does not: no file with another time proves anything.
    """
    is_near = all(on_one_storage(store, directory) for directory in taken.directories)
    if len(taken.directories) > MOST_DIRECTORIES or planned_ms is None or not is_near:
        return None
    count, same = 0, 0
    for directory in taken.directories:
        try:
            objects = store.at(directory).ls()[0]
        except CheckpointError:
            return None
        for name, stored in objects.items():
            taken_ms = taken.times_ms.get(f"{directory}/{name}")
            if stored.modified_ms is None or (
                taken_ms is not None and abs(taken_ms - stored.modified_ms) > _ROUNDING_MS
            ):
                return None
            same += taken_ms is not None
            count += taken_ms is None and stored.modified_ms < planned_ms and name[0] not in "._"
    return count if same else None


def _confs(view: CheckpointView, newest: OffsetSeq | None) -> tuple[tuple[tuple[int, int], ...], Proof | None]:
    if newest is None or newest.metadata is None or view.latest_planned is None:
        return (), None
    versions = versions_of(newest.metadata.conf)
    texts = " and ".join(map(version_text, versions))
    proof = Proof(layout.offset_entry(view.latest_planned), f"has the once-only confs of Spark {texts}")
    return versions, proof if versions else None
