"""Rules about the entries of a file sink's log, which readers of the table and the next compaction read."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding, a_note, a_warning, an_error
from airflow_provider_ckpt.checks.registry import rule
from airflow_provider_ckpt.checks.remedies import complete_sink_log
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import UnreadableError


@rule("CKPT144")
def unreadable(view: CheckpointView) -> Iterator[Finding]:
    """CKPT144: an entry that readers of the table and the next compaction stop at."""
    sink = view.sink
    if sink is None:
        return
    batch_id = sink.next_compaction(view.next_batch)
    for name, error in sink.damaged.items():
        if isinstance(error, UnreadableError):
            yield _not_opened(name, error)
            continue
        yield an_error(
            "CKPT144",
            f"{name} of the sink cannot be read ({error.message}): every reader of the table stops there, and so does "
            f"batch {batch_id}, which compacts the log",
            batch_id,
            name,
            spark_error=error.spark_error if batch_id == view.next_batch else None,
            **complete_sink_log(
                view, sink.location, why="Restore the file from a copy of the table, or write it anew."
            ),
        )


def _not_opened(name: str, error: UnreadableError) -> Finding:
    return an_error(
        "CKPT144",
        f"{name} of the sink cannot be opened: {error.message}. Nothing of it is judged, and every reader of the table "
        "and the next compaction read it",
        name=name,
        hint="Check as the user who runs the query, or move it out of the log and check again, which says what is then "
        "missing.",
    )


@rule("CKPT145")
def repeated(view: CheckpointView) -> Iterator[Finding]:
    """CKPT145: two entries name one file, so one is a copy of the other and what it held is lost to readers."""
    for name, other in (view.sink.repeated if view.sink else {}).items():
        yield an_error(
            "CKPT145",
            f"{name} and {other} of the sink list the same file: one has the content of the other, so readers of "
            "the table miss the files that it listed before",
            None,
            name,
            "Restore the file from a copy of the table.",
        )


@rule("CKPT121")
def changed(view: CheckpointView) -> Iterator[Finding]:
    """CKPT121: an entry of the sink's log that does not fit its checksum file."""
    for name in view.sink.stale if view.sink else ():
        yield a_warning(
            "CKPT121",
            f"the checksum file does not match {name} of the sink: that file was changed without Hadoop, and "
            "readers of the table may miss a file that it listed",
            None,
            name,
            "Compare the entry with the files in the output directory.",
        )


@rule("CKPT115")
def folders(view: CheckpointView) -> Iterator[Finding]:
    """CKPT115: a directory where the sink will write its entry of a batch."""
    sink = view.sink
    for name in sink.folders if sink else ():
        place = layout.parse(name)
        if isinstance(place, layout.SinkLogEntry) and place.batch_id >= view.next_batch:
            due = place.batch_id == view.next_batch and not place.compact
            yield an_error(
                "CKPT115",
                f"there is a directory where the sink writes the entry of batch {place.batch_id}, so the write fails",
                place.batch_id,
                name,
                "Move the directory out of the sink's log.",
                "IllegalStateException" if due else None,
            )


@rule("CKPT120")
def orphaned_checksums(view: CheckpointView) -> Iterator[Finding]:
    """CKPT120: a Hadoop checksum without its entry, where the sink writes a later one."""
    sink = view.sink
    for name in sink.objects if sink else ():
        place = layout.parse(name)
        if sink is None or not isinstance(place, layout.Sidecar) or not place.hidden or place.of in sink.objects:
            continue
        entry = layout.parse(place.of)
        if isinstance(entry, layout.SinkLogEntry) and entry.batch_id >= view.next_batch:
            due = entry.batch_id == view.next_batch and not entry.compact
            yield an_error(
                "CKPT120",
                f"a checksum file without {place.of} in the log of the sink; batch {entry.batch_id} fails to write "
                "that entry with 'Multiple streaming queries are concurrently using'",
                entry.batch_id,
                name,
                "Remove the checksum file.",
                "_LEGACY_ERROR_TEMP_2207" if due else None,
            )


@rule("CKPT144")
def partly_read(view: CheckpointView) -> Iterator[Finding]:
    """CKPT144: entries of the sink's log that were not read."""
    unread = view.sink.unread if view.sink else ()
    if unread:
        more = f" and {len(unread) - 1} more" if len(unread) > 1 else ""
        yield a_note(
            "CKPT144",
            f"{unread[0]} of the sink{more} was not read, because the log is too large",
            None,
            unread[0],
            "If it is damaged, readers of the table fail. Read the table once with Spark to find out.",
        )
