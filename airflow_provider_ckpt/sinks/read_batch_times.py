"""Reads when a file sink wrote its files, and when the query ran its batches, and compares them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.observe import decode_entries
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.source_log import FileSinkLog, SinkFileStatus
from airflow_provider_ckpt.errors import CheckpointFormatError, CheckpointNotFoundError
from airflow_provider_ckpt.sinks.batch_times import Fit, judge, ran
from airflow_provider_ckpt.sinks.file import read_file_sink
from airflow_provider_ckpt.storage.store import Store

#: So many of the newest batches are compared; each costs two small reads.
_BATCHES = 10
#: No larger entry of the sink's log is read for it, bytes.
_ENTRY_BYTES = 8 << 20


def read_fit(checkpoint: Store, view: CheckpointView, sink: Store, rerun_up_to: int) -> Fit:
    """Compare the newest batches of a query with what the log of a file sink says of them.

    Args:
        checkpoint: The checkpoint.
        view: The same, as it was read.
        sink: The output directory.
        rerun_up_to: Batches up to this one may have run again while the sink skipped them.

    Raises:
        StoreError: The storage refused or did not answer.
    """
    batches = view.planned[-_BATCHES:]
    log = read_file_sink(sink)
    files, newest = dict[int, tuple[SinkFileStatus, ...]](), None
    for place, name in log.entries.items():
        if place.batch_id not in batches or (place.compact and place.batch_id != log.latest):
            continue
        statuses = _read(log, sink, name)
        if place.compact and statuses:
            newest = place.batch_id, statuses[-1]
        elif statuses:
            files[place.batch_id] = statuses
    if not files and newest is None:
        return Fit()
    names = [layout.offset_entry(batch) for batch in batches]
    with suppress(CheckpointNotFoundError):  # Spark purged one meanwhile
        unread = [name for name in names if name not in view.entries and name not in view.damaged]
        entries = {**view.entries, **decode_entries(checkpoint, unread, checkpoint.read)[0]}
        times = ran(view, entries, one_storage=_is_one_storage(checkpoint.location, sink.location))
        return judge(times, files, newest, rerun_up_to)
    return Fit()


def _is_one_storage(one: str, other: str) -> bool:
    """Whether one clock gives the times of the files at two locations."""
    if urlsplit(one)[:2] != urlsplit(other)[:2]:
        return False
    if urlsplit(one).scheme:
        return True
    try:
        return Path(one).stat().st_dev == Path(other).stat().st_dev  # a mounted storage has a clock of its own
    except OSError:
        return False


def _read(log: SinkLog, sink: Store, name: str) -> tuple[SinkFileStatus, ...]:
    """What an entry names; nothing where it cannot be told."""
    if log.objects[name].size > _ENTRY_BYTES:
        return ()
    with suppress(CheckpointFormatError, CheckpointNotFoundError):
        entry = codec.decode(name, sink.read(name))
        return entry.entries if isinstance(entry, FileSinkLog) else ()
    return ()
