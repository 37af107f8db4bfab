"""Reading which files of a source the log of the file sink that wrote them does not name any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.inspect import find_newest_restorable
from airflow_provider_ckpt.codec.offsets import file as file_offset
from airflow_provider_ckpt.codec.source_log import FileSinkLog, SinkFileStatus
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointFormatError, CheckpointNotFoundError
from airflow_provider_ckpt.sinks.file import MOST_BYTES, read_file_sink
from airflow_provider_ckpt.sources.file.end import RECURSIVE, End
from airflow_provider_ckpt.sources.file.unlogged import Unlogged, findings_of, unlogged
from airflow_provider_ckpt.sources.find_first_batch import find_first_batch
from airflow_provider_ckpt.sources.table_loss import TableAtRestart, TableLosses
from airflow_provider_ckpt.storage.store import Store

#: What is not judged: whether the sink that wrote the files still names those that were read.
READ_FILES = "files that were read"
_NOT_JUDGED = TableLosses(unknown=(READ_FILES,))


def read_unlogged(at: TableAtRestart, end: End, checkpoint: Store) -> TableLosses:
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
