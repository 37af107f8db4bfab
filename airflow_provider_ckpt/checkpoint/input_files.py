"""The files that file sources read in some batches, as their logs name them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from airflow_provider_ckpt.checkpoint.source_log_files import file_log_offset, source_entries
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_log import FileSourceLog
from airflow_provider_ckpt.codec.source_offset import SourceOffset


@dataclass(frozen=True, slots=True)
class Inputs:
    """Input files of batches, as far as they were found.

    Args:
        named: Number of files that the logs name.
        gone: URIs of files that are missing from a directory that exists.
        unseen: Number of files that were not judged: their directory cannot be read from here, or they are too many.
    """

    named: int = 0
    gone: tuple[str, ...] = ()
    unseen: int = 0


_PARTITION = re.compile(r"[^/=]+=[^/]*")


def directory_of(path: str) -> str:
    """The directory of a file that a log names, without the escapes of the log; on a disk without a scheme."""
    parts = urlsplit(path)
    directory = unquote(parts.path).rpartition("/")[0] or "/"
    return directory if parts.scheme in ("", "file") else f"{parts.scheme}://{parts.netloc}{directory}"


def base_name_of(path: str) -> str:
    """The name of a file that a log names, in its directory."""
    return unquote(urlsplit(path).path).rpartition("/")[2]


def above_partitions(directory: str) -> str:
    """The directory above those of partitions, such as ``day=2026-11-01``; the same one without partitions."""
    while _PARTITION.fullmatch(directory.rpartition("/")[2]):
        directory = directory.rpartition("/")[0] or "/"
    return directory


def files_in_flight(view: CheckpointView) -> tuple[str, ...]:
    """URIs of the files of the batch that a restart runs again; ``view`` has every log entry."""
    if view.in_flight is None:
        return ()
    before = view.predecessor(view.in_flight)
    starts = {} if before is None else dict(_offsets(view, before))
    found: list[str] = []
    for source_id, end in _ends(view, view.in_flight):
        start = file_log_offset(view, source_id, starts.get(source_id))
        found += files_between(view, source_id, -1 if start is None else start, end)
    return tuple(found)


def files_after(view: CheckpointView, batch_id: int) -> tuple[str, ...]:
    """URIs of the files of all batches after one; ``view`` has the log entries that :func:`logs_after` names."""
    return tuple(path for source_id, end in _ends(view, batch_id) for path in files_between(view, source_id, end, None))


def logs_after(view: CheckpointView, batch_id: int) -> list[str]:
    """Names of the log entries of file sources that name files of batches after one."""
    return [
        name
        for source_id, end in _ends(view, batch_id)
        for entry, name in source_entries(view, source_id).items()
        if entry.entry_id > end
    ]


def files_between(view: CheckpointView, source_id: str, after: int, up_to: int | None) -> tuple[str, ...]:
    """URIs of the files that a source took, as far as its log was read.

    Args:
        view: With the entries of the log.
        source_id: The source.
        after: The first entry is the one after this (exclusive).
        up_to: The last entry (inclusive); None is the end of the log.
    """
    logs = (view.entries.get(name) for name in source_entries(view, source_id).values())
    files = {
        (file.batch_id, file.path): None
        for log in logs
        if isinstance(log, FileSourceLog)
        for file in log.entries
        if after < file.batch_id and (up_to is None or file.batch_id <= up_to)
    }
    return tuple(path for _, path in sorted(files))


def _ends(view: CheckpointView, batch_id: int) -> Iterator[tuple[str, int]]:
    """The last entry of its log that each file source had read with a batch."""
    for source_id, offset in _offsets(view, batch_id):
        end = file_log_offset(view, source_id, offset)
        if end is not None:
            yield source_id, end


def _offsets(view: CheckpointView, batch_id: int) -> tuple[tuple[str, SourceOffset | None], ...]:
    entry = view.entries.get(layout.offset_entry(batch_id))
    return entry.offsets if isinstance(entry, OffsetSeq) else ()
