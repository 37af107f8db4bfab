"""Entries of source logs that a restart needs. A file source keeps a log of its own; other logs are taken whole."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.offsets import file as file_offset
from airflow_provider_ckpt.codec.source_log import FileSourceLog
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import MalformedEntryError
from airflow_provider_ckpt.untrusted.spans import Span, missing_names, missing_spans


@dataclass(slots=True)
class SourceFiles:
    """The files, and what is not there of them."""

    names: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def source_files(view: CheckpointView, offsets: OffsetSeq) -> SourceFiles:
    """Log files of the sources up to where an offset entry says that they are; all files of unknown sources."""
    needed = SourceFiles()
    for source_id, offset in offsets.offsets:
        log_offset = file_log_offset(view, source_id, offset)
        entries = source_entries(view, source_id)
        if log_offset is None or not entries:
            directory = f"{layout.SOURCES}/{source_id}"
            needed.names += [
                name
                for name in view.names_below(directory)
                if not isinstance(layout.parse(name), layout.Sidecar | layout.Temporary | layout.Other)
            ]
        else:
            needed.names += [entries[entry] for entry in _log_up_to(entries, log_offset, needed)]
    return needed


def source_entries(view: CheckpointView, source_id: str) -> dict[layout.SourceLogEntry, str]:
    """Names of the log entries that a source keeps, by entry."""
    places = {name: layout.parse(name) for name in view.names_below(f"{layout.SOURCES}/{source_id}")}
    return {place: name for name, place in places.items() if isinstance(place, layout.SourceLogEntry)}


def file_sources(view: CheckpointView) -> frozenset[str]:
    """The sources that keep a log of files, as the offset entries that were read show; all when none was."""
    entries = [entry for entry in view.entries.values() if isinstance(entry, OffsetSeq)]
    if not entries:
        return frozenset(name.split("/")[1] for name in view.names_below(layout.SOURCES) if name.count("/") > 1)
    return frozenset(
        source_id
        for entry in entries
        for source_id, offset in entry.offsets
        if file_log_offset(view, source_id, offset) is not None
    )


def file_log_offset(
    view: CheckpointView, source_id: str, offset: SourceOffset | None, *, declared: bool = False
) -> int | None:
    """The entry of its own log that a file source's offset names, or None when it is no such offset.

    A number alone is one where the source is ``declared`` to be a file source, or keeps the log of one; without one it
    is that of another source.
    """
    if offset is None:
        return None
    if file_offset.is_bare(offset.json) and not declared and not _keeps_file_log(view, source_id):
        return None
    try:
        return file_offset.decode(offset.json)
    except MalformedEntryError:
        return None


def _keeps_file_log(view: CheckpointView, source_id: str) -> bool:
    """True if a source's log is that of a file source: it has a second entry, or it was read and names files."""
    for entry, name in source_entries(view, source_id).items():
        read = view.entries.get(name)
        if entry.entry_id > 0 or entry.compact or (isinstance(read, FileSourceLog) and read.entries):
            return True
    return False


def source_log_end(entries: Collection[layout.SourceLogEntry], log_offset: int) -> int:
    """The last entry of a file source's log that a restart at ``log_offset`` needs.

    That is ``log_offset`` itself, unless the entries up to it live on only inside a later compacted one.
    """
    if not gaps_up_to(entries, log_offset):
        return log_offset
    later = [entry.entry_id for entry in entries if entry.compact and entry.entry_id > log_offset]
    return min(later, default=log_offset)


def _log_up_to(
    entries: Mapping[layout.SourceLogEntry, str], log_offset: int, needed: SourceFiles
) -> list[layout.SourceLogEntry]:
    end = source_log_end(entries.keys(), log_offset)
    start = _compacted_up_to(entries.keys(), end)
    source_id = next(iter(entries)).source_id
    for gap in gaps_up_to(entries.keys(), end):
        needed.missing += missing_names(gap, lambda entry_id: f"{layout.SOURCES}/{source_id}/{entry_id}")
    whole = [entry for entry in entries if entry.compact and entry.entry_id == start]
    return whole + [entry for entry in entries if not entry.compact and start < entry.entry_id <= end]


def _compacted_up_to(entries: Collection[layout.SourceLogEntry], log_offset: int) -> int:
    return max((entry.entry_id for entry in entries if entry.compact and entry.entry_id <= log_offset), default=-1)


def gaps_up_to(entries: Collection[layout.SourceLogEntry], log_offset: int) -> tuple[Span, ...]:
    """Entries that are missing between the newest compacted one and ``log_offset``."""
    own = (entry.entry_id for entry in entries if not entry.compact)
    return missing_spans(own, _compacted_up_to(entries, log_offset) + 1, log_offset)
