"""Rules about what sources keep: their offsets, and the logs of file sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from airflow_provider_ckpt.checkpoint.source_log_files import file_log_offset, gaps_up_to, source_entries
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding, a_warning, an_error
from airflow_provider_ckpt.checks.logs import empty_line_error, entry_before, newest_entry
from airflow_provider_ckpt.checks.registry import rule
from airflow_provider_ckpt.checks.remedies import from_backup_or_before
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.jvm_text import INT_MAX, abbreviate
from airflow_provider_ckpt.codec.offsets import kinesis as kinesis_offset
from airflow_provider_ckpt.codec.source_log import FileEntry, FileSourceLog
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import (
    EmptyLineError,
    IncompleteLogFileError,
    MalformedEntryError,
    TooLargeError,
    UnreadableError,
    UnsupportedVersionError,
)
from airflow_provider_ckpt.times import time_text
from airflow_provider_ckpt.untrusted.spans import Span, missing_spans, spans_text

FILE = "file"
#: How far a file may be dated after the newest batch, a year in milliseconds: clocks differ, and none by so much.
_AHEAD_MS = 365 * 86_400_000


@rule("CKPT125")
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
            "batch reads nothing, and the next one may read everything again"
            if in_flight
            else "source is read again from the offset before that one, so what it gave to this batch is written twice"
        )
        yield an_error(
            "CKPT125",
            f"source {source_id} has no offset in the newest entry: the {then}",
            view.latest_planned,
            name,
            **from_backup_or_before(view, "the entry", view.latest_planned),
        )


@rule("CKPT109")
def kinesis_goes_back(view: CheckpointView) -> Iterator[Finding]:
    """CKPT109: a Kinesis source counts its batches itself, keeps files by that number, and refuses a smaller one."""
    newest, before = newest_entry(view), entry_before(view)
    earlier = {} if before is None else dict(before.offsets)
    for source_id, offset in newest.offsets if newest is not None else ():
        then, now = _kinesis_batch(earlier.get(source_id)), _kinesis_batch(offset)
        if then is None or now is None or now >= then:
            continue
        in_flight = view.in_flight is not None
        goes_on = "stops there" if in_flight else "reads what it has kept under that number for another batch"
        yield an_error(
            "CKPT109",
            f"the Kinesis source {source_id} has its batch {now} after its batch {then}: the source {goes_on}",
            view.latest_planned,
            layout.offset_entry(view.latest_planned or 0),
            spark_error="INTERNAL_ERROR" if in_flight else None,
            **from_backup_or_before(view, "the entry", view.latest_planned),
        )


def _kinesis_batch(offset: SourceOffset | None) -> int | None:
    """The batch that the offset of a Kinesis source names; None for any other offset."""
    if offset is None or '"batchId"' not in offset.json:
        return None
    try:
        return kinesis_offset.batch_number(offset.view("kinesis").value)
    except MalformedEntryError:
        return None


@rule("CKPT123", "CKPT124", "CKPT126", "CKPT127")
def file_source_logs(view: CheckpointView, kinds: Mapping[str, str | None] | None = None) -> Iterator[Finding]:
    """CKPT123, CKPT124, CKPT126: a file source's log must reach its offset without a hole, and offsets grow.

    Args:
        view: The checkpoint.
        kinds: Declared types of the sources by name, of which one may not be known; None when none is declared. Then,
            and where a type is not known, an offset shows by its form that it is one of a file source.
    """
    newest, before = newest_entry(view), entry_before(view)
    if newest is None:
        return
    for source_id, offset in newest.offsets:
        if newest.version >= 2 and kinds is not None and source_id not in kinds:
            continue
        kind = (kinds or {}).get(source_id)
        is_file = kind == FILE
        log_offset = file_log_offset(view, source_id, offset, declared=is_file) if kind in (None, FILE) else None
        if log_offset is None:
            if is_file and offset is not None:
                yield from unreadable_log(view, source_id)
            continue
        earlier = file_log_offset(view, source_id, before.offset(source_id), declared=is_file) if before else None
        yield from _goes_back(view, source_id, log_offset, earlier)
        if view.complete and log_offset >= 0:
            yield from _log_of_source(view, source_id, log_offset, earlier)


def unreadable_log(view: CheckpointView, source_id: str) -> Iterator[Finding]:
    """Findings on what a file source cannot read of its log, whatever its offset is, as far as the log was read."""
    entries = source_entries(view, source_id)
    for entry, name in entries.items() if view.complete else ():
        if _is_read(entry, entries):
            found = _entry_of_source(view, source_id, entry, name)
            yield from (finding for finding in found if finding.spark_error is not None)


def _goes_back(view: CheckpointView, source_id: str, now: int, earlier: int | None) -> Iterator[Finding]:
    if earlier is not None and now < earlier:
        yield an_error(
            "CKPT126",
            f"the offset of source {source_id} goes back from log entry {earlier} to {now}",
            view.latest_planned,
            layout.offset_entry(view.latest_planned or 0),
            spark_error="AssertionError",
            **from_backup_or_before(view, "the entry", view.latest_planned),
        )


def _log_of_source(view: CheckpointView, source_id: str, log_offset: int, earlier: int | None) -> Iterator[Finding]:
    entries = source_entries(view, source_id)
    end = max((entry.entry_id for entry in entries), default=-1)
    read = {entry: name for entry, name in entries.items() if _is_read(entry, entries)}
    for entry, name in read.items():
        if entry.entry_id > log_offset and _is_copy(view, name, [each for at, each in read.items() if at != entry]):
            yield _copied_entry(view, source_id, name)
        else:
            yield from _entry_of_source(view, source_id, entry, name)
    holes = gaps_up_to(entries, end)
    if holes:
        yield an_error(
            "CKPT124",
            f"the log of source {source_id} does not have the entries {spans_text(holes)}",
            view.latest_planned,
            f"{layout.SOURCES}/{source_id}/{holes[0].first}",
            spark_error="FileNotFoundException",
            **from_backup_or_before(view, "the files", None),
        )
    elif ahead := missing_spans((entry.entry_id for entry in entries), log_offset + 1, end):
        yield _stray_entry(view, source_id, end, ahead, log_offset)
    if end < log_offset:
        yield _ends_early(view, source_id, end, log_offset, earlier)


def _stray_entry(view: CheckpointView, source_id: str, end: int, ahead: Sequence[Span], log_offset: int) -> Finding:
    """CKPT124: the next batch reads all entries from the offset on, up to the newest one."""
    return an_error(
        "CKPT124",
        f"the log of source {source_id} has the entry {end} and not the entries {spans_text(ahead)} before it, and no "
        f"batch has read further than entry {log_offset}: the next new batch stops there",
        view.latest_planned,
        f"{layout.SOURCES}/{source_id}/{ahead[0].first}",
        "Move what was copied in out of the log.",
        None if view.in_flight is not None else "IllegalStateException",
    )


def _ends_early(view: CheckpointView, source_id: str, end: int, log_offset: int, earlier: int | None) -> Finding:
    """CKPT123. Spark asks for the entries that the newest batch read; where it read none, nothing is asked for."""
    idle = earlier is not None and earlier >= log_offset
    consequence, error = "", "IllegalStateException" if log_offset - (earlier or 0) <= INT_MAX else _TOO_MANY
    if idle and log_offset - end > 1:
        consequence = (
            f"; Spark lists the directory again, writes entry {end + 1}, and stops because the offset went back"
        )
        error = "AssertionError"
    elif idle:
        consequence = (
            "; the newest batch read nothing, so Spark starts, lists the directory again and writes all files into "
            f"entry {log_offset}, which counts as read: these files, new ones too, are never read"
        )
    return an_error(
        "CKPT123",
        f"source {source_id} has read up to log entry {log_offset}, but its log ends at {_end_text(end)}{consequence}",
        view.latest_planned,
        f"{layout.SOURCES}/{source_id}/{log_offset}",
        spark_error=None if idle and log_offset - end == 1 else error,
        **from_backup_or_before(view, "the files", None),
    )


def _end_text(end: int) -> str:
    return "none" if end < 0 else str(end)


#: More entries than a Scala range can count.
_TOO_MANY = "IllegalArgumentException"


def _entry_of_source(
    view: CheckpointView, source_id: str, entry: layout.SourceLogEntry, name: str
) -> Iterator[Finding]:
    """CKPT101 to CKPT103: an entry that Spark cannot read; CKPT127: one that is another's, or names no file."""
    if name in view.damaged:
        if not isinstance(view.damaged[name], UnreadableError):  # CKPT153 tells of it
            yield _unreadable(view, name)
        return
    read = view.entries.get(name)
    if name in view.long_source_logs:
        if (says := view.long_source_logs[name]) != entry.entry_id:
            yield _other_entry(view, source_id, entry, name, says)
    elif isinstance(read, FileSourceLog):
        named = {file.batch_id for file in read.entries}
        newest = max(named, default=None)
        if newest != entry.entry_id:
            yield _other_entry(view, source_id, entry, name, newest)
        elif entry.compact and len(named) <= entry.entry_id:
            yield _partial_entry(view, source_id, name, min(set(range(len(named) + 1)) - named))
    elif read is not None:
        yield an_error(
            "CKPT102",
            f"the log of file source {source_id} has a file that is not an entry of such a log",
            None,
            name,
            spark_error=_error_of_other(read.encode()),
            **from_backup_or_before(view, "the file", None),
        )


def _error_of_other(data: bytes) -> str:
    """Error with which Spark stops at a file that does not belong to such a log."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return "MalformedInputException"
    return "MappingException" if data.startswith(b"v") else "MALFORMED_LOG_FILE"


def _other_entry(
    view: CheckpointView, source_id: str, entry: layout.SourceLogEntry, name: str, says: int | None
) -> Finding:
    what = "names no file" if says is None else f"says that it is the entry {says}"
    return an_error(
        "CKPT127",
        f"{name} {what}: Spark forgets that the files of entry {entry.entry_id} of source {source_id} were read, and "
        "reads them again",
        view.latest_planned,
        name,
        **from_backup_or_before(view, "the file", None),
    )


def _is_copy(view: CheckpointView, name: str, others: Sequence[str]) -> bool:
    """True if other entries have the files of an entry, as it has them."""
    own = view.entries.get(name)
    if not isinstance(own, FileSourceLog) or not own.entries or name.endswith(layout.COMPACT):
        return False
    read = (view.entries.get(other) for other in others)
    return set(own.entries) <= {file for entry in read if isinstance(entry, FileSourceLog) for file in entry.entries}


def _copied_entry(view: CheckpointView, source_id: str, name: str) -> Finding:
    """CKPT127: Spark reads no file of it again, whether new files come or not."""
    return Finding(
        "CKPT127",
        "warning",
        f"{name} is a copy of an earlier entry, and no batch has read it: source {source_id} loses nothing and reads "
        "nothing twice, and the batch that reads this entry has no rows of it",
        view.latest_planned,
        name,
        "Move it out of the log while the query is stopped.",
    )


def _partial_entry(view: CheckpointView, source_id: str, name: str, lacking: int) -> Finding:
    """A compacted entry has the files of every entry before it, and none is written without a file."""
    return an_error(
        "CKPT127",
        f"{name} names no file of entry {lacking}: Spark forgets that the files of that entry of source {source_id} "
        "were read, and reads them again",
        view.latest_planned,
        name,
        **from_backup_or_before(view, "the file", None),
    )


@rule("CKPT128")
def inputs_of_batch_in_flight(view: CheckpointView) -> Iterator[Finding]:
    """CKPT128: input files of the batch in flight are gone."""
    if view.gone_inputs:
        count = len(view.gone_inputs)
        yield an_error(
            "CKPT128",
            f"batch {view.in_flight} runs again without {count} of its input files, which no longer exist: their rows "
            f"are lost; the first is {view.gone_inputs[0]}",
            view.in_flight,
            layout.offset_entry(view.in_flight or 0),
            "Put the files back before the query starts.",
        )


@rule("CKPT129")
def inputs_from_the_future(view: CheckpointView) -> Iterator[Finding]:
    """CKPT129: a source has read a file that is dated long after the batches, and takes all others for too old."""
    newest = newest_entry(view)
    batch_ms = newest.metadata.batch_timestamp_ms if newest is not None and newest.metadata is not None else 0
    for source_id in _file_sources(view) if batch_ms > 0 else ():
        entries = source_entries(view, source_id)
        for entry, name in entries.items():
            log = view.entries.get(name)
            if not _is_read(entry, entries) or not isinstance(log, FileSourceLog):
                continue
            latest = max(log.entries, key=lambda file: file.timestamp_ms, default=None)
            if latest is not None and latest.timestamp_ms > batch_ms + _AHEAD_MS:
                yield _from_the_future(view, source_id, name, latest)


def _from_the_future(view: CheckpointView, source_id: str, name: str, file: FileEntry) -> Finding:
    return a_warning(
        "CKPT129",
        f"source {source_id} has read {abbreviate(file.path)}, which is dated {time_text(file.timestamp_ms)}: Spark "
        "ignores files that are older than it by more than maxFileAge (7 days, unless it is set), so new files are not "
        "read, and there is no error",
        view.latest_planned,
        name,
        "Set the option maxFileAge of the source to more than the file is ahead, or start the query with a new "
        "checkpoint location once the file is dated right.",
    )


@rule("CKPT115")
def log_folders(view: CheckpointView) -> Iterator[Finding]:
    """CKPT115: a directory where a file source writes its next entry."""
    newest = newest_entry(view)
    known = {source_id for source_id, _ in newest.offsets} if newest else set()
    for name in view.folders:
        place = layout.parse(name)
        if not isinstance(place, layout.SourceLogEntry) or place.source_id not in known:
            continue
        end = max((entry.entry_id for entry in source_entries(view, place.source_id)), default=-1)
        if place.entry_id > end:
            due = place.entry_id == end + 1 and view.in_flight is None
            yield an_error(
                "CKPT115",
                f"there is a directory where Spark writes entry {place.entry_id} of the log of source "
                f"{place.source_id}, so the write fails",
                None,
                name,
                "Move the directory out of the checkpoint.",
                "IllegalStateException" if due else None,
            )


def live_entries(view: CheckpointView) -> Iterator[str]:
    """The names of the entries that restore what each file source has read."""
    for source_id in _file_sources(view):
        entries = source_entries(view, source_id)
        yield from (name for entry, name in entries.items() if _is_read(entry, entries))


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
    if isinstance(error, EmptyLineError):
        return empty_line_error(view, name, error, stops=True)
    if isinstance(error, TooLargeError):
        return a_warning(code, error.message, None, name, "ckpt does not know the format of the file.")
    remedy = from_backup_or_before(view, "the file", None)
    # the byte before the initial offset of Kafka
    spark_error = _error_of_other(error.head) if error.head.startswith(b"\0") else error.spark_error
    return an_error(code, error.message, None, name, spark_error=spark_error, **remedy)


@rule("CKPT120")
def orphaned_checksums(view: CheckpointView) -> Iterator[Finding]:
    """CKPT120: a Hadoop checksum without its entry, where a file source writes its next one."""
    ends = {
        source_id: max((entry.entry_id for entry in source_entries(view, source_id)), default=-1)
        for source_id in _file_sources(view)
    }
    for name in view.objects:
        place = layout.parse(name)
        if not isinstance(place, layout.Sidecar) or not place.hidden or place.of in view.objects:
            continue
        main = layout.parse(place.of)
        if not isinstance(main, layout.SourceLogEntry) or main.entry_id <= ends.get(main.source_id, main.entry_id):
            continue
        due = main.entry_id == ends[main.source_id] + 1 and not main.compact and view.in_flight is None
        yield an_error(
            "CKPT120",
            f"there is a checksum file without its file {place.of}; Spark then fails to write {place.of} with "
            "'Multiple streaming queries are concurrently using'",
            None,
            name,
            "Remove the checksum file.",
            "_LEGACY_ERROR_TEMP_2207" if due else None,
        )


def _file_sources(view: CheckpointView) -> Iterator[str]:
    newest = newest_entry(view)
    for source_id, offset in newest.offsets if newest else ():
        if file_log_offset(view, source_id, offset) is not None:
            yield source_id
