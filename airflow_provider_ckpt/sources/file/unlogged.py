"""Files that a query has read, and that the log of the file sink which wrote them does not name any more.

A rollback of the writing query takes them out of the log and writes their rows again, in other files. The retention of
a file sink takes files out as well, always those that were modified first: a file that is newer than one that the log
still names was not taken out by it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from airflow_provider_ckpt.checks.findings import Finding, a_note, a_warning
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.source_log import FileEntry, SinkFileStatus, key_of
from airflow_provider_ckpt.sources.table_loss import TableAtRestart

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
