"""Rules about the offset log, the commit log and the query id."""

from __future__ import annotations

import re
from collections.abc import Iterator

from airflow_provider_ckpt.checkpoint.spark_confs import CATALOGUE, SHUFFLE_PARTITIONS
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding, Severity, a_warning, an_error
from airflow_provider_ckpt.checks.registry import rule
from airflow_provider_ckpt.checks.remedies import (
    Remedy,
    back_before,
    finish_repartition,
    from_backup,
    from_backup_or_before,
    or_salvage,
    without_empty_lines,
)
from airflow_provider_ckpt.codec import empty_lines, layout
from airflow_provider_ckpt.codec.commit_log import CommitMetadata
from airflow_provider_ckpt.codec.jvm_text import INT_MAX, abbreviate, parse_int
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import (
    CheckpointClosedError,
    EmptyLineError,
    IncompleteLogFileError,
    UnreadableError,
    UnsupportedVersionError,
)

_RELEVANT = frozenset(conf.key for conf in CATALOGUE)


def newest_entry(view: CheckpointView) -> OffsetSeq | None:
    """The newest offset log entry when it was read and is whole."""
    return entry_of(view, view.latest_planned)


def entry_before(view: CheckpointView) -> OffsetSeq | None:
    """The entry that a restart reads beside the newest one, when it was read and is whole."""
    return None if view.latest_planned is None else entry_of(view, view.predecessor(view.latest_planned))


def entry_of(view: CheckpointView, batch_id: int | None) -> OffsetSeq | None:
    """The offset log entry of a batch when it was read and is whole; without empty lines, of which CKPT107 tells."""
    entry = None if batch_id is None else view.entries.get(layout.offset_entry(batch_id))
    return entry.without_empty_lines() if isinstance(entry, OffsetSeq) else None


def newest_commit(view: CheckpointView) -> CommitMetadata | None:
    """The newest commit log entry when it was read and is whole."""
    if view.latest_committed is None:
        return None
    commit = view.entries.get(layout.commit_entry(view.latest_committed))
    return commit if isinstance(commit, CommitMetadata) else None


def read_at_restart(view: CheckpointView) -> tuple[str, ...]:
    """The small files that a restart reads, in Spark's order."""
    newest, committed = view.latest_planned, view.latest_committed
    names = [layout.METADATA]
    if newest is not None:
        names.append(layout.offset_entry(newest))
    if committed is not None:
        names.append(layout.commit_entry(committed))
    if newest is not None and (before := view.predecessor(newest)) is not None:
        names.append(layout.offset_entry(before))
    return tuple(names)


#: Damaged entries that no restart reads are named up to this number, and counted beyond.
MOST_NAMED = 1_000


@rule("CKPT101", "CKPT102", "CKPT103")
def damaged_entries(view: CheckpointView) -> Iterator[Finding]:
    """CKPT101 to CKPT103: files that Spark cannot read; a warning where a restart does not read them."""
    initial = [name for name in view.damaged if isinstance(layout.parse(name), layout.InitialOffsetFile)]
    read, others = {*read_at_restart(view), *initial}, 0
    for name, error in view.damaged.items():
        if isinstance(error, UnreadableError):
            continue  # CKPT153 tells of it
        if name not in read:
            if not isinstance(layout.parse(name), layout.LogEntry | layout.QueryMetadataFile):
                continue
            others += 1
            if others > MOST_NAMED:
                continue
        yield damaged_entry(view, name, stops=name in read)
    if others > MOST_NAMED:
        yield a_warning(
            "CKPT102",
            f"{others - MOST_NAMED:,} more log entries cannot be read, but a restart does not need them",
            **from_backup(view, "the checkpoint", otherwise="leave them: Spark deletes old entries"),
        )


def damaged_entry(view: CheckpointView, name: str, *, stops: bool) -> Finding:
    """Finding on one file of ``view.damaged``; ``stops`` says if a restart reads it."""
    error, place = view.damaged[name], layout.parse(name)
    batch_id = place.batch_id if isinstance(place, layout.LogEntry) else None
    code = "CKPT102"
    if isinstance(error, IncompleteLogFileError):
        code = "CKPT101"
    elif isinstance(error, UnsupportedVersionError):
        code = "CKPT103"
    if isinstance(error, UnreadableError):
        return unreadable(view, name, error, stops=stops)
    if isinstance(error, EmptyLineError):
        return empty_line_error(view, name, error, stops=stops)
    if isinstance(error, UnsupportedVersionError | CheckpointClosedError):  # nothing is damaged
        remedy = Remedy(hint=error.hint or "", commands=())
    elif batch_id is not None and batch_id == view.in_flight:
        remedy = back_before(view, batch_id, why=f"{error.hint or ''} The batch was never committed.".strip())
    else:
        remedy = from_backup_or_before(view, "the file", batch_id, why=error.hint or "")
    if stops and not isinstance(error, UnsupportedVersionError | CheckpointClosedError):
        remedy = or_salvage(view, remedy)
    severity: Severity = "error" if stops else "warning"
    spark_error = error.spark_error if stops else None
    return Finding(code, severity, error.message, batch_id, name, spark_error=spark_error, **remedy)


@rule("CKPT104")
def missing_metadata(view: CheckpointView) -> Iterator[Finding]:
    """CKPT104: the query would get a new id, and idempotent sinks would not know it."""
    if layout.METADATA in view.folders:
        yield an_error(
            "CKPT104",
            "there is a directory where the file metadata with the query id should be",
            name=layout.METADATA,
            spark_error="FileNotFoundException",
            **from_backup(view, "the file", why="Move the directory out of the checkpoint."),
        )
    elif layout.METADATA not in view.objects and (view.planned or view.committed):
        yield an_error(
            "CKPT104",
            "the file metadata with the query id is missing",
            name=layout.METADATA,
            spark_error="STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
            **from_backup(
                view,
                "it",
                why="Spark before 4.2 would continue under a new query id, which duplicates data in sinks that know "
                "queries by id; Spark 4.2 and later refuses to start.",
            ),
        )


@rule("CKPT105")
def without_batch_metadata(view: CheckpointView) -> Iterator[Finding]:
    """CKPT105: an empty second line, which only a continuous query writes, and then in every entry."""
    newest, before = newest_entry(view), entry_before(view)
    batch_id = view.latest_planned
    if newest is None or before is None or batch_id is None or (newest.metadata is None) == (before.metadata is None):
        return
    in_flight = view.in_flight is not None
    if newest.metadata is None:
        yield _no_metadata(view, batch_id, "IllegalArgumentException" if in_flight else "NullPointerException")
    elif in_flight:  # Spark compares the two
        is_null = before.encode().split(b"\n")[1:2] != [b""]
        yield _no_metadata(view, batch_id - 1, "NullPointerException" if is_null else "IllegalArgumentException")


def _no_metadata(view: CheckpointView, batch_id: int, spark_error: str) -> Finding:
    return an_error(
        "CKPT105",
        "the line with watermark and confs is empty",
        batch_id,
        layout.offset_entry(batch_id),
        spark_error=spark_error,
        **from_backup_or_before(view, "the file", batch_id),
    )


@rule("CKPT153")
def not_opened(view: CheckpointView) -> Iterator[Finding]:
    """CKPT153: what could not be opened and was to be read; of what the state lacks, its own rules tell."""
    read, lacking = set(read_at_restart(view)), {problem.partition(": ")[0] for problem in view.missing or ()}
    for name, error in view.damaged.items():
        if isinstance(error, UnreadableError) and (name in read or name not in lacking):
            stops = name in read or isinstance(layout.parse(name), layout.SourceFile)
            yield unreadable(view, name, error, stops=stops)


def unreadable(view: CheckpointView, name: str, error: UnreadableError, *, stops: bool) -> Finding:
    """CKPT153 of one file; what Spark does with it depends on who runs the query."""
    place = layout.parse(name)
    move = "Move it out of the checkpoint. Then check again, which says what is missing and what brings it back."
    return Finding(
        "CKPT153",
        "error" if stops else "warning",
        f"the file cannot be opened: {error.message}. Nothing of it is judged"
        + (", and a restart reads it" if stops else ""),
        place.batch_id if isinstance(place, layout.LogEntry) else None,
        name,
        move if error.hint is None else f"Check as the user who runs the query. {error.hint}",
    )


@rule("CKPT107")
def lines_of_no_source(view: CheckpointView) -> Iterator[Finding]:
    """CKPT107: lines that an editor has left; Spark takes each for a source without an offset."""
    read = {name for name in read_at_restart(view) if name.startswith(f"{layout.OFFSETS}/")}
    for name, entry in view.entries.items():
        place = layout.parse(name)
        if isinstance(place, layout.LogEntry) and isinstance(entry, OffsetSeq) and entry.empty_lines:
            yield empty_line(view, place.batch_id, entry, stops=name in read)


def empty_line(view: CheckpointView, batch_id: int, entry: OffsetSeq, *, stops: bool) -> Finding:
    """Finding on one entry with empty lines; ``stops`` says if a restart reads it."""
    empty, known = entry.empty_lines, len(entry.offsets) - len(entry.empty_lines)
    name = layout.offset_entry(batch_id)
    at_end = empty[0] == known + 3
    lines = f"{empty_lines.lines_text(empty)}, at the end" if at_end else empty_lines.lines_text(empty)
    taken = "Spark takes line 2 for the one with watermark and confs, and" if empty[0] == 2 else "Spark"
    error = "IllegalArgumentException" if empty[0] == 2 and view.in_flight is not None else "AssertionError"
    return Finding(
        "CKPT107",
        "error" if stops else "warning",
        f"{lines} in {name}, as an editor leaves it: {taken} counts {len(entry.offsets)} sources there, and there "
        + ("is 1" if known == 1 else f"are {known}"),
        batch_id,
        name,
        spark_error=error if stops else None,
        **without_empty_lines(view),
    )


def empty_line_error(view: CheckpointView, name: str, error: EmptyLineError, *, stops: bool) -> Finding:
    """CKPT107 of a log entry that Spark cannot read for its empty lines."""
    place = layout.parse(name)
    batch_id = place.batch_id if isinstance(place, layout.LogEntry) else None
    severity: Severity = "error" if stops else "warning"
    spark_error = error.spark_error if stops else None
    said = f"{error.message}: Spark cannot read the entry"
    return Finding("CKPT107", severity, said, batch_id, name, spark_error=spark_error, **without_empty_lines(view))


def ids_too_far_apart(view: CheckpointView, log: str) -> Iterator[Finding]:
    """CKPT115: Spark counts from the first entry of a log to the last."""
    batches = view.batches(log)
    if batches and batches[-1] - max(batches[0], 0) >= INT_MAX:
        yield an_error(
            "CKPT115",
            f"{log}/{batches[-1]} is more than {INT_MAX} batches after {log}/{batches[0]}, which is more than "
            "Spark can count",
            batches[-1],
            f"{log}/{batches[-1]}",
            "Move the file out of the checkpoint.",
            "IllegalArgumentException",
        )


@rule("CKPT112")
def commits_ahead(view: CheckpointView) -> Iterator[Finding]:
    """CKPT112: every restart would run the newest planned batch into the sink and then stop."""
    planned, committed = view.latest_planned, view.latest_committed
    if committed is None or (planned is not None and committed <= planned):
        return
    yield an_error(
        "CKPT112",
        f"batch {committed} is committed, but the newest offset entry is {'none' if planned is None else planned}",
        committed,
        layout.commit_entry(committed),
        spark_error="AssertionError" if planned is None else "CONCURRENT_STREAM_LOG_UPDATE",
        **back_before(
            view,
            committed,
            why="A plain copy of a running query's checkpoint can be like this. The commits after the newest offset "
            "entry must be removed.",
        ),
    )


@rule("CKPT113")
def commits_trail(view: CheckpointView) -> Iterator[Finding]:
    """CKPT113: Spark runs again the newest planned batch alone."""
    planned, committed = view.latest_planned, view.latest_committed
    if planned is None or planned == committed:
        return
    if isinstance(view.damaged.get(layout.offset_entry(planned)), CheckpointClosedError):
        return  # that entry is none of a batch
    between = [batch for batch in view.planned if (-1 if committed is None else committed) < batch < planned]
    if between:
        yield a_warning(
            "CKPT113",
            f"batches {between[0]} to {planned} are planned and not committed; Spark runs only batch {planned} again",
            planned,
            **back_before(view, between[0], why="If the sink holds the others, nothing is to be done."),
        )


@rule("CKPT115")
def odd_names(view: CheckpointView) -> Iterator[Finding]:
    """CKPT115: names that Spark counts as a batch and then cannot open."""
    for name in view.objects:
        place = layout.parse(name)
        if isinstance(place, layout.LogEntry) and not place.canonical:
            newest = place.batch_id == max(view.batches(place.log))
            known = f"{place.log}/{place.batch_id}" in view.objects
            yield Finding(
                "CKPT115",
                "error" if newest and not known else "warning",
                f"Spark reads this name as batch {place.batch_id}, and then opens {place.log}/{place.batch_id}, "
                "which is another file",
                place.batch_id,
                name,
                "Move the file out of the checkpoint.",
                "FileNotFoundException" if newest and not known else None,
            )


@rule("CKPT115")
def folders(view: CheckpointView) -> Iterator[Finding]:
    """CKPT115: a directory where Spark will write a batch, or has: what else is said of the log comes after it."""
    for name in view.folders:
        place = layout.parse(name)
        if not isinstance(place, layout.LogEntry):
            continue
        due = place.batch_id == view.next_batch
        is_next = place.batch_id > max(view.latest_planned or 0, view.latest_committed or 0)
        yield Finding(
            "CKPT115",
            "error" if place.batch_id >= view.next_batch else "warning",
            f"there is a directory where Spark writes the file of batch {place.batch_id}",
            place.batch_id,
            name,
            "Move the directory out of the checkpoint."
            + ("" if is_next else " Do that first, and check again: only then the remedies of other findings hold."),
            "CONCURRENT_STREAM_LOG_UPDATE" if due else None,
        )


@rule("CKPT115")
def files_in_the_way(view: CheckpointView) -> Iterator[Finding]:
    """CKPT115: an object of S3 under the name of a directory in which Spark writes; S3A takes it for a file."""
    if not view.location.startswith(_S3):
        return
    for name in sorted(view.objects.keys() & {other.rpartition("/")[0] for other in view.objects}):
        if _WRITTEN_IN.fullmatch(name):
            yield an_error(
                "CKPT115",
                f"there is an object under the name of the directory {name}, which S3A takes for a file, so Spark "
                "cannot write into the directory",
                view.next_batch,
                name,
                f"Remove the object {name} with a client of S3 (not what is below {name}/). Tools that mark "
                "directories, such as those of WASB, make such objects.",
                _ROCKSDB if _is_of_rocksdb(view, name) else "ParentNotDirectoryException",
            )


def _is_of_rocksdb(view: CheckpointView, directory: str) -> bool:
    return any(name.startswith(f"{directory}/") and name.endswith((".zip", ".changelog")) for name in view.objects)


_S3 = ("s3://", "s3a://")
_ROCKSDB = "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"
#: Directories in which Spark writes files for each batch.
_WRITTEN_IN = re.compile(r"offsets|commits|sources/[^/]+|state/\d+/\d+(?:/[^/]+)?")


@rule("CKPT116")
def null_confs(view: CheckpointView) -> Iterator[Finding]:
    """CKPT116: a conf without a value in the newest entry."""
    entry = newest_entry(view)
    for key, value in (entry.metadata.conf if entry and entry.metadata else {}).items():
        if value is None and view.latest_planned is not None:
            stops = key in _RELEVANT
            yield Finding(
                "CKPT116",
                "error" if stops else "warning",
                f"the conf {key} is null" + (", and Spark stops with 'value cannot be null'" if stops else ""),
                view.latest_planned,
                layout.offset_entry(view.latest_planned),
                spark_error="IllegalArgumentException" if stops else None,
                **back_before(view, view.latest_planned),
            )


@rule("CKPT119")
def unfinished_repartition(view: CheckpointView) -> Iterator[Finding]:
    """CKPT119: a repartition that was killed, which Spark 4.2 and later wants finished first."""
    newest, before = newest_entry(view), entry_before(view)
    if view.in_flight is None or newest is None or before is None or not newest.metadata or not before.metadata:
        return
    batch_id = view.in_flight
    old, new = (entry.metadata.conf.get(SHUFFLE_PARTITIONS) for entry in (before, newest) if entry.metadata)
    if old is None or new is None:
        return
    if parse_int(old) is None or parse_int(new) is None:
        at = batch_id if parse_int(new) is None else batch_id - 1
        yield _no_number(view, at, old if at < batch_id else new)
    elif parse_int(old) != parse_int(new):
        yield an_error(
            "CKPT119",
            f"batch {batch_id} repartitions the state from {old} to {new} and was not finished",
            batch_id,
            layout.offset_entry(batch_id),
            spark_error="STREAMING_UNFINISHED_REPARTITION_DETECTED",
            **finish_repartition(view, batch_id, parse_int(new) or 0),
        )


def _no_number(view: CheckpointView, batch_id: int, value: str) -> Finding:
    return an_error(
        "CKPT116",
        f"{SHUFFLE_PARTITIONS} is not a number but {abbreviate(value)}",
        batch_id,
        layout.offset_entry(batch_id),
        spark_error="NumberFormatException",
        **from_backup_or_before(view, "the entry", batch_id),
    )
