"""The file sink: it skips every batch up to the newest in the ``_spark_metadata`` of its output directory."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.sink_marker import SinkCommit, SinkMarker, format_of
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.checksum import HadoopChecksum
from airflow_provider_ckpt.codec.source_log import FileSinkLog
from airflow_provider_ckpt.errors import CheckpointFormatError, CheckpointNotFoundError, TooLargeError
from airflow_provider_ckpt.storage.each_file import EachFile
from airflow_provider_ckpt.storage.store import Store

if TYPE_CHECKING:
    from airflow_provider_ckpt.query.sink import Sink


#: How much is read of a sink log at most, in bytes and entries; compacted entries of old queries can be of any size.
MOST_BYTES, MOST_ENTRIES = 32 << 20, 1_000


def read_file_sink(store: Store, *, deep: bool = False, each: bool = False) -> SinkLog:
    """See the ``_spark_metadata`` of a file sink's output directory.

    Args:
        store: The output directory.
        deep: Also read what readers of the table and the next compaction read; otherwise a listing alone.
        each: Tell of an entry that cannot be opened as of a damaged one, and judge the others.
    """
    objects, directories = store.ls(layout.SINK_LOG)
    log = SinkLog(store.location, objects, tuple(sorted(directories)))
    return _read_entries(log, EachFile(store) if each else store, log.live.values()) if deep else log


def read_trimmed(store: Store, batch_id: int) -> SinkLog:
    """Read the log, and the files that readers of the table will read once every batch after one is removed from it.

    Removing a compacted entry makes the entries live again that it was made from, which nobody has read since.
    """
    log = read_file_sink(store)
    left = {name: stored for name, stored in log.objects.items() if _is_up_to(batch_id, layout.main_name(name))}
    now = log.live.values()
    trimmed = replace(log, objects=left)
    again = [name for name in trimmed.live.values() if name not in now]
    read = _read_entries(trimmed, store, again)
    return replace(log, damaged=read.damaged, unread=read.unread)


def _is_up_to(batch_id: int, name: str) -> bool:
    place = layout.parse(name)
    return isinstance(place, layout.SinkLogEntry) and place.batch_id <= batch_id


def _read_entries(log: SinkLog, store: Store | EachFile, names: Collection[str]) -> SinkLog:
    damaged: dict[str, CheckpointFormatError] = {}
    repeated: dict[str, str] = {}
    stale, unread, named_by = [], [], dict[str, str]()
    left, newest = MOST_BYTES, ""
    for count, name in enumerate(names):
        left -= log.objects[name].size
        if left < 0 or count >= MOST_ENTRIES:
            unread.append(name)
            continue
        try:
            data = store.read(name)
            entry = codec.decode(name, data)
        except CheckpointNotFoundError:
            continue  # compacted and deleted since it was listed
        except TooLargeError:
            unread.append(name)
            continue
        except CheckpointFormatError as error:
            error.at(log.location)
            damaged[name] = error
            continue
        if not _fits_checksum(name, data, log, store):
            stale.append(name)
        for status in entry.entries if isinstance(entry, FileSinkLog) else ():
            newest = status.path
            if named_by.setdefault(status.path, name) != name:
                repeated[name] = named_by[status.path]
    return replace(
        log,
        damaged=damaged,
        repeated=repeated,
        stale=tuple(stale),
        unread=tuple(unread),
        file_format=format_of(newest),
    )


def _fits_checksum(name: str, data: bytes, log: SinkLog, store: Store | EachFile) -> bool:
    directory, _, base = name.rpartition("/")
    sidecar = f"{directory}/.{base}.crc"
    if sidecar in log.objects:
        with suppress(CheckpointFormatError, CheckpointNotFoundError):
            checksum = codec.decode(sidecar, store.read(sidecar))
            return not isinstance(checksum, HadoopChecksum) or checksum.matches(data)
    return True


def read(sink: Sink, store: Store, query_id: str, batch_id: int) -> SinkMarker:
    """Read a file sink's memory; it is the same for every query, because the sink goes by its directory alone."""
    return marker_of(read_file_sink(store))


def marker_of(log: SinkLog) -> SinkMarker:
    """The memory that a log is."""
    entries = sorted(log.entries.items(), key=lambda item: item[0].batch_id)
    commits = tuple(SinkCommit(name, entry.batch_id) for entry, name in entries)
    return SinkMarker("file", log.location, last_batch=log.latest, commits=commits)
