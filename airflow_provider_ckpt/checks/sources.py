"""Rules about what sources keep: their offsets, and the logs of file sources."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from airflow_provider_ckpt.checks.logs import entry_before, newest_entry
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import IncompleteLogFileError, TooLargeError, UnsupportedVersionError
from airflow_provider_ckpt.findings import Finding
from airflow_provider_ckpt.source_files import file_log_offset, gaps_up_to, source_entries
from airflow_provider_ckpt.spans import spans_text
from airflow_provider_ckpt.view import CheckpointView


def void_offsets(view: CheckpointView) -> Iterator[Finding]:
    """CKPT125: a source without an offset in the newest entry although it had one before."""
    newest, before = newest_entry(view), entry_before(view)
    if newest is None or before is None or view.latest_planned is None:
        return
    name = layout.offset_entry(view.latest_planned)
    now = dict(newest.offsets)
    for source_id, offset in before.offsets:
        if offset is None or now.get(source_id) is not None or (newest.version == 1 and source_id not in now):
            continue
        in_flight = view.in_flight is not None
        then = (
            "batch runs empty, and the next one may read everything again"
            if in_flight
            else "source is read again from the offset before"
        )
        yield Finding(
            "CKPT125",
            "error" if in_flight else "warning",
            f"source {source_id} has no offset in the newest entry: the {then}",
            view.latest_planned,
            name,
            "Restore the entry from a backup, or roll back to the batch before it.",
        )


def file_source_logs(view: CheckpointView, known: Collection[str] | None = None) -> Iterator[Finding]:
    """CKPT123, CKPT124, CKPT126: a file source's log must reach its offset without a hole, and offsets grow.

    ``known`` are the ids to look at; None is all of them.
    """
    newest, before = newest_entry(view), entry_before(view)
    if newest is None:
        return
    for source_id, offset in newest.offsets:
        log_offset = None if offset is None else file_log_offset(offset.json)
        if log_offset is None or (known is not None and source_id not in known):
            continue
        earlier = before.offset(source_id) if before else None
        yield from _goes_back(view, source_id, log_offset, file_log_offset(earlier.json) if earlier else None)
        if view.complete and log_offset >= 0:
            yield from _log_of_source(view, source_id, log_offset)


def _goes_back(view: CheckpointView, source_id: str, now: int, earlier: int | None) -> Iterator[Finding]:
    if earlier is not None and now < earlier:
        yield Finding(
            "CKPT126",
            "error",
            f"source {source_id} goes back from log entry {earlier} to {now}",
            view.latest_planned,
            layout.offset_entry(view.latest_planned or 0),
            "Restore the entry from a backup, or roll back to the batch before it.",
            "AssertionError",
        )


def _log_of_source(view: CheckpointView, source_id: str, log_offset: int) -> Iterator[Finding]:
    directory = f"{layout.SOURCES}/{source_id}"
    entries = source_entries(view, source_id)
    end = max((entry.entry_id for entry in entries), default=-1)
    damaged = [name for entry, name in entries.items() if name in view.damaged and _is_read(entry, entries)]
    for name in damaged:
        yield _unreadable(view, name)
    holes = gaps_up_to(entries, end)
    if holes:
        yield Finding(
            "CKPT124",
            "error",
            f"the log of source {source_id} has holes (entries {spans_text(holes)})",
            view.latest_planned,
            f"{directory}/{holes[0].first}",
            "Restore the files from a backup, or roll back to a batch before the first of them.",
            "FileNotFoundException",
        )
    if end < log_offset:
        yield Finding(
            "CKPT123",
            "error",
            f"source {source_id} stands at log entry {log_offset}, and its log ends at {end}",
            view.latest_planned,
            f"{directory}/{log_offset}",
            "Restore the files from a backup, or roll back to a batch whose log entry is there.",
            "IllegalStateException",
        )


def _is_read(entry: layout.SourceLogEntry, entries: dict[layout.SourceLogEntry, str]) -> bool:
    """A source is restored from its newest compacted entry and everything after it."""
    compacted = max((other.entry_id for other in entries if other.compact), default=-1)
    return entry.entry_id > compacted or (entry.compact and entry.entry_id == compacted)


def _unreadable(view: CheckpointView, name: str) -> Finding:
    error = view.damaged[name]
    code = "CKPT102"
    if isinstance(error, IncompleteLogFileError):
        code = "CKPT101"
    elif isinstance(error, UnsupportedVersionError):
        code = "CKPT103"
    hint = "Restore the file from a backup, or roll back to a batch before it."
    if isinstance(error, TooLargeError):
        return Finding(code, "warning", error.message, None, name, "Nothing is known of what it holds.")
    return Finding(code, "error", error.message, None, name, hint, error.spark_error)


RULES = (void_offsets, file_source_logs)
