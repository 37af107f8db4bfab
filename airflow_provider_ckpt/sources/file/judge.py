"""Asking what a file source loses: files that its storage deletes unread, or that the sink beside it has dropped.

A lifecycle rule of a bucket deletes objects by their age, read or not, and Spark does not notice: a file that is gone
before it was listed is never read. Of the files of a batch in flight ``CKPT128`` says which are gone.

A rollback of the query that writes the directory takes files out of the log of its sink, and writes their rows again,
in other files. The retention of a file sink takes files out as well, always those that were modified first: a file that
is newer than one that the log still names was not taken out by it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.findings import Finding, a_note, a_warning
from airflow_provider_ckpt.checks.inspect import find_newest_restorable
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offsets import file as file_offset
from airflow_provider_ckpt.codec.source_log import FileEntry, FileSinkLog, SinkFileStatus, key_of
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import (
    CheckpointError,
    CheckpointFormatError,
    CheckpointNotFoundError,
    MalformedEntryError,
    StoreError,
    StoreUnavailableError,
)
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.sinks.file import MOST_BYTES, read_file_sink
from airflow_provider_ckpt.sources.file.end import RECURSIVE, End
from airflow_provider_ckpt.sources.find_first_batch import find_first_batch
from airflow_provider_ckpt.sources.kafka.read_losses import data_loss_of
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.table_loss import TableAtRestart, TableLosses, all_losses
from airflow_provider_ckpt.storage.lifecycle import LifecycleRule, lifecycle_rules
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import duration_text

#: What is not judged: when the storage deletes files by itself.
LIFECYCLE = "lifecycle rules"
#: What is not judged: whether the sink that wrote the files still names those that were read.
READ_FILES = "files that were read"
_NOT_JUDGED = TableLosses(unknown=(READ_FILES,))


def judge(at: TableAtRestart, declared: Source, access: Access) -> TableLosses:
    """Judge one file source; see :meth:`~airflow_provider_ckpt.sources.judge_tables.Judge.judge`."""
    _require_file_source(at)
    end = End(declared, at.source_id, access)
    elsewhere = TableLosses(unknown=(data_loss_of(at.source_id),)) if _is_elsewhere(at, end) else TableLosses()
    unlogged = TableLosses() if access.checkpoint is None else _of_unlogged(at, end, access.checkpoint)
    return all_losses((elsewhere, unlogged, _expiring(at, end)))


def _is_elsewhere(at: TableAtRestart, end: End) -> bool:
    """True if the query has read no file of this directory, but others.

    Spark reads the files of the newest batch again when it starts. From another directory it stops: ``Wrong basePath``.
    """
    try:
        return end.is_elsewhere(at.planned or at.committed)
    except StoreUnavailableError:
        raise
    except CheckpointError:  # damaged, or not to be opened, which other rules say
        return False


def _expiring(at: TableAtRestart, end: End) -> TableLosses:
    try:
        rules = lifecycle_rules(end.store)
    except StoreUnavailableError:
        raise
    except StoreError:  # who may read the files may not read the rules
        rules = None
    if not rules:
        return TableLosses(unknown=() if rules is not None else (LIFECYCLE,))
    prefix = end.store.root.strip("/").partition("/")[2]
    keys = {
        f"{prefix}/{name}".lstrip("/"): (file.size, file.modified_ms)
        for name, file in end.unread_files(at.committed).items()
    }
    found = [(expiry, key, rule) for key, file in keys.items() for expiry, rule in _expiries(key, file, rules)]
    expiries = sorted((item for item in found if not item[2].is_tagged), key=lambda item: item[:2])
    tagged = any(rule.is_tagged for _, _, rule in found)
    unknown = (LIFECYCLE,) if tagged else ()
    if not expiries:
        return TableLosses(unknown=unknown)
    first_ms, key, rule = expiries[0]
    left_ms = max(0, first_ms - at.now_ms)
    count = len({key for _, key, _ in expiries})
    return TableLosses((finding_of_rule(at, rule, key, count, left_ms),), unknown, left_ms)


def _require_file_source(at: TableAtRestart) -> None:
    try:
        if at.committed is not None:
            at.committed.view("file")
    except MalformedEntryError as error:
        raise CheckpointError(f"source {at.source_id} is not a file source: {error.message}") from None


def _expiries(key: str, file: tuple[int, int], rules: Iterable[LifecycleRule]) -> list[tuple[int, LifecycleRule]]:
    found = [(rule.expiry_ms(key, *file), rule) for rule in rules]
    return [(expiry, rule) for expiry, rule in found if expiry is not None]


def finding_of_rule(at: TableAtRestart, rule: LifecycleRule, key: str, count: int, left_ms: int) -> Finding:
    """CKPT265: unread files that a rule deletes; a warning when it may do so at any time."""
    when = f"in {duration_text(left_ms)}" if left_ms else "at any time from now on"
    named = f"the lifecycle rule {rule.name!r:.60}" if rule.name else "a lifecycle rule"
    return Finding(
        "CKPT265",
        "note" if left_ms else "warning",
        f"{count:,} files that source {at.source_id} has not read are deleted by {named} of their bucket, whether they "
        f"are read or not; the first is {key}, {when}. Spark never reads a file that is gone, without an error",
        batch_id=at.batch_id,
        name=layout.offset_entry(at.batch_id),
        hint="Start the query before that time, or give the rule more days.",
    )


def _of_unlogged(at: TableAtRestart, end: End, checkpoint: Store) -> TableLosses:
    """CKPT148, where a file sink writes the directory of a source; nothing where Spark does not go by such a log.

    Raises StoreError.
    """
    log = read_file_sink(end.store) if end.pattern in ("", RECURSIVE) else None
    if log is None or not log.entries:
        return TableLosses()
    if not _is_whole(log):
        return _NOT_JUDGED
    position = at.planned or at.committed
    try:
        found = unlogged(end.taken(position), _logged(end.store, log), end.store.root)
        if found is None:  # it has read nothing, or another place
            return TableLosses() if file_offset.decode(position.json) < 0 else _NOT_JUDGED
        return _judged(at, found, checkpoint)
    except (CheckpointFormatError, CheckpointNotFoundError):  # damaged, which other rules say; or compacted meanwhile
        return _NOT_JUDGED


def _is_whole(log: SinkLog) -> bool:
    """True if the log names every batch, so that an unnamed file is not that of a missing entry."""
    first = next(iter(log.live))
    size = sum(log.objects[name].size for name in log.live.values())
    return not log.holes and (first.compact or first.batch_id == 0) and size <= MOST_BYTES


def _logged(sink: Store, log: SinkLog) -> Iterator[SinkFileStatus]:
    for name in log.live.values():
        entry = codec.decode(name, sink.read(name))
        if isinstance(entry, FileSinkLog):
            yield from entry.entries


def _judged(at: TableAtRestart, found: Unlogged, checkpoint: Store) -> TableLosses:
    view = observe(checkpoint, deep=bool(found.dropped))
    last = first = view.latest_planned or 0
    if found.dropped:
        taken = found.dropped[0][1]

        def has_read(offsets: Iterable[tuple[str, SourceOffset | None]]) -> bool:
            offset = dict(offsets).get(at.source_id)
            return offset is not None and file_offset.decode(offset.json) >= taken

        first = find_first_batch(checkpoint, view, has_read)
        at = replace(at, back_to=find_newest_restorable(checkpoint, view, first - 1))
    return TableLosses(tuple(findings_of(at, found, first, last)))


CODE = "CKPT148"


@dataclass(frozen=True, slots=True)
class Unlogged:
    """The files that were read and that the log does not name.

    Args:
        dropped: Those that are newer than the oldest file that the log names, by name in the directory, with the entry
            of the source's log that took each, the first ones first.
        expired: How many are as old as that, or older: the retention of the sink may have taken them out.
    """

    dropped: tuple[tuple[str, int], ...] = ()
    expired: int = 0


def unlogged(taken: Iterable[FileEntry], logged: Iterable[SinkFileStatus], root: str) -> Unlogged | None:
    """Compare what a source has taken with the log of the sink; None when nothing was taken from that directory.

    Args:
        taken: Files that the log of the source names, up to the position of the query.
        logged: Files named by the sink's log, in its order; a file that it says to be deleted was taken out by it.
        root: The directory, as :func:`~airflow_provider_ckpt.codec.source_log.key_of` spells it.
    """
    below = f"{root.strip('/')}/".lstrip("/")
    read = {key: file for file in taken if (key := key_of(file.path)).startswith(below)}
    if not read:
        return None
    named, oldest_ms = set[str](), None
    for status in logged:
        named.add(key_of(status.path))
        if status.action == "add":
            at_ms = status.modification_time_ms
            oldest_ms = at_ms if oldest_ms is None else min(at_ms, oldest_ms)
    gone = [(file.batch_id, key, file.timestamp_ms) for key, file in read.items() if key not in named]
    dropped = [(batch, key) for batch, key, at_ms in gone if oldest_ms is not None and at_ms > oldest_ms]
    files = tuple((key.removeprefix(below), entry) for entry, key in sorted(dropped))
    return Unlogged(files, len(gone) - len(dropped))


def findings_of(at: TableAtRestart, found: Unlogged, first_batch: int, last_batch: int) -> Iterator[Finding]:
    """CKPT148: a warning of rows that may come twice; a note of files of which nobody can tell.

    Args:
        at: The source; ``back_to`` is the batch to roll back to.
        found: The files.
        first_batch: The first batch that has read one of those that were taken out.
        last_batch: The newest batch that was planned.
    """
    place = at.shown_place
    if found.dropped:
        yield _dropped(at, found, place, first_batch)
    if found.expired:
        yield a_note(
            CODE,
            f"source {at.source_id} has read {_files(found.expired)} that the log of the file sink which writes "
            f"{place} does not name, nor does it name an older one: whether the retention of the sink or a change took "
            "them out is not known",
            last_batch,
            layout.offset_entry(last_batch),
        )


def _dropped(at: TableAtRestart, found: Unlogged, place: str, first_batch: int) -> Finding:
    (name, _), count = found.dropped[0], len(found.dropped)
    message = (
        f"from batch {first_batch} on, source {at.source_id} has read {_files(count)} "
        f"that the log of the file sink which writes {place} does not name any more, while it names "
        f"older ones; the first is {name}. The query holds their rows; when the query that wrote them was rolled back, "
        "it writes these rows again, in other files, and this query reads them twice"
    )
    if at.back_to is None:
        hint = (
            "No batch from before was found that can be restored from this checkpoint: roll back to a backup that is "
            "older, or take the rows out of the sink yourself."
        )
        return _finding(at, message, first_batch, hint)
    hint = (
        f"Roll this query back to batch {at.back_to} as well, with the rows of its sink. It can stay as it is when "
        "those rows are not written again."
    )
    command = f"ckpt rollback {shlex.quote(at.checkpoint)} --to-batch {at.back_to} --sink TYPE[:URI]"
    return _finding(at, message, first_batch, hint, command)


def _finding(at: TableAtRestart, message: str, batch_id: int, hint: str, *commands: str) -> Finding:
    return a_warning(CODE, message, batch_id, layout.offset_entry(batch_id), hint, commands=commands)


def _files(count: int) -> str:
    return f"{count:,} {'file' if count == 1 else 'files'}"
