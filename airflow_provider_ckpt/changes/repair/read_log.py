"""Reading what is left of the log of a file sink, of a copy of it, and of the output directory."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.changes.repair.data_file import DataFile
from airflow_provider_ckpt.changes.repair.lacking import LogContents
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.source_log import FileSinkLog, SinkFileStatus
from airflow_provider_ckpt.errors import CheckpointFormatError, PlanError, TooLargeError
from airflow_provider_ckpt.storage.store import Store

#: How a whole file of these formats begins and ends: a writer that was killed has not written its end.
_ENDS = {".parquet": (b"PAR1", b"PAR1", 0), ".orc": (b"ORC", b"ORC", 1)}


def read_log(log: SinkLog, store: Store) -> LogContents:
    """Read the newest compacted entry that is whole, all single entries after it, and whether those before it are."""
    entries, damaged = log.entries, dict[str, str]()
    compacted, base = -1, tuple[SinkFileStatus, ...]()
    for entry in sorted((entry for entry in entries if entry.compact), key=lambda entry: -entry.batch_id):
        files = _files_of(entries[entry], store, damaged)
        if files is not None:
            compacted, base = entry.batch_id, files
            break
    singles = {}
    for entry in sorted(entries, key=lambda entry: entry.batch_id):
        if not entry.compact and entry.batch_id > compacted:
            files = _files_of(entries[entry], store, damaged)
            if files is not None:
                singles[entry.batch_id] = files
    before = max((entry.batch_id for entry in entries if entry.compact and entry.batch_id < compacted), default=-1)
    for entry in sorted(entries, key=lambda entry: entry.batch_id):  # which a rollback may need, though no reader does
        if not entry.compact and before < entry.batch_id <= compacted:
            _files_of(entries[entry], store, damaged)
    return LogContents(log, compacted, base, singles, damaged)


def _files_of(name: str, store: Store, damaged: dict[str, str]) -> tuple[SinkFileStatus, ...] | None:
    try:
        entry = codec.decode(name, store.read(name))
    except TooLargeError as error:
        raise PlanError(
            f"{name} of the sink is too large to be read ({error.message}).",
            location=store.location,
            name=name,
            hint="Nothing was done. Restore _spark_metadata from a copy of the table.",
        ) from None
    except CheckpointFormatError as error:
        damaged[name] = error.message
        return None
    return entry.entries if isinstance(entry, FileSinkLog) else None


def read_copy(names: Iterable[str], copy: Store) -> dict[str, bytes]:
    """Entries of a copy of the log, by their names in the log; what it does not have, or has damaged, is left out.

    ``copy`` is a copy of the output directory, or of ``_spark_metadata`` itself.
    """
    inside = bool(copy.ls(layout.SINK_LOG)[0])
    there = copy.ls(layout.SINK_LOG if inside else "")[0]
    found: dict[str, bytes] = {}
    for name in names:
        own = name if inside else name.removeprefix(f"{layout.SINK_LOG}/")
        if own in there:
            data = copy.read(own)
            try:
                codec.decode(name, data)
            except CheckpointFormatError:
                continue
            found[name] = data
    return found


def find_broken(files: Iterable[DataFile], store: Store) -> tuple[DataFile, ...]:
    """The files whose writer was killed before it had written their end, as far as their format shows that."""
    return tuple(file for file in files if not _is_whole(file, store))


def _is_whole(file: DataFile, store: Store) -> bool:
    for ending, (first, last, behind) in _ENDS.items():
        if file.name.endswith(ending):
            size = len(first) + len(last) + behind
            if file.size < size:
                return False
            end = store.read_up_to(file.name, len(last) + behind, file.size - len(last) - behind)
            return store.read_up_to(file.name, len(first)) == first and end[: len(last)] == last
    return True
