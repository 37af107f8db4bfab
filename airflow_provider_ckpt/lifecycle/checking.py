"""Checking a checkpoint: what is read for which rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tenacity import retry, retry_if_exception, stop_after_attempt

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.checks.state import MISMATCH
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.checksum import BYTES_PER_CHECKSUM, HadoopChecksum, SparkChecksum
from airflow_provider_ckpt.compression import decompressors
from airflow_provider_ckpt.errors import CheckpointFormatError, CheckpointNotFoundError, TooLargeError
from airflow_provider_ckpt.findings import Finding
from airflow_provider_ckpt.lifecycle.copying import THREADS
from airflow_provider_ckpt.lifecycle.fitting import memory_of
from airflow_provider_ckpt.lifecycle.listing import Look
from airflow_provider_ckpt.lifecycle.observing import decode_entries, drive, in_parallel, observe
from airflow_provider_ckpt.limits import CHECKSUM_BYTES
from airflow_provider_ckpt.objects import StoredObject
from airflow_provider_ckpt.restart_set import restart_set
from airflow_provider_ckpt.sinks import read_file_sink
from airflow_provider_ckpt.store import Store
from airflow_provider_ckpt.view import CheckpointView

#: State files that are larger are compared with their checksum file by their size alone.
LARGEST_SUMMED = 1 << 30


def inspect(store: Store, *, deep: bool = False) -> tuple[Finding, ...]:
    """Check a checkpoint as it is; see :func:`examine` for what is read."""
    return check(examine(store, deep=deep))


def examine(store: Store, *, deep: bool = False, look: Look | None = None, sink: Store | None = None) -> CheckpointView:
    """See of a checkpoint what the rules and the forecast judge.

    Args:
        store: Where it is.
        deep: Read every log entry and checksum file, and the state that a restart after the newest commit loads;
            otherwise a listing and a few reads.
        look: A first look that was just taken.
        sink: The output directory of the file sink.

    Raises:
        CheckpointNotFoundError: Nothing there, or no checkpoint.
        StoreError: The storage refused or did not answer.
    """
    view = _examine_all(store) if deep else observe(store, look=look)
    if sink is None:
        return view
    memory = memory_of(store, view.query_id)
    other = None if memory is None or memory.knows(sink) else (" and ".join(memory.sinks), memory.location)
    return replace(view, sink=read_file_sink(sink, deep=deep), first_sink=other)


def _is_purged(error: BaseException) -> bool:
    """An object that was listed and is gone: a running query cleans up."""
    return isinstance(error, CheckpointNotFoundError) and error.name is not None


@retry(retry=retry_if_exception(_is_purged), stop=stop_after_attempt(4), reraise=True)
def _examine_all(store: Store) -> CheckpointView:
    return look_deeper(store, observe(store, deep=True), store.head, store.chunks)


def look_deeper(
    store: Store, view: CheckpointView, read: Callable[[str], bytes], chunks: Callable[[str], Iterator[bytes]]
) -> CheckpointView:
    """Add to a complete listing what its log entries say and what the state of the newest commit lacks.

    ``read`` gives the bytes of a listed object, of a large changelog the beginning, and ``chunks`` all of any object a
    piece at a time: of a checkpoint in the store, or of one that a backup there holds.
    """
    readable = [name for name in view.objects if _is_text_log(name)]
    entries, damaged = decode_entries(store, readable, read)
    view = replace(view, entries={**view.entries, **entries}, damaged={**view.damaged, **damaged})
    newest = view.latest_committed
    if newest is None or {layout.offset_entry(newest), layout.commit_entry(newest)} & view.damaged.keys():
        return view
    try:
        needed = drive(restart_set(view, newest, decompressors()), read)
    except CheckpointFormatError as error:
        return replace(view, missing=(f"{error.name}: {error.message}",))
    broken = _broken(view, needed.names, read, chunks)
    if broken:
        needed = drive(restart_set(view, newest, decompressors(), broken), read)
    return replace(
        view,
        missing=needed.missing,
        repaired=needed.repaired,
        unjudged=needed.unknown,
        single_partition=needed.single,
    )


def _is_text_log(name: str) -> bool:
    place = layout.parse(name)
    main = layout.parse(place.of) if isinstance(place, layout.Sidecar) else place
    return isinstance(
        main, layout.LogEntry | layout.QueryMetadataFile | layout.SourceLogEntry | layout.OperatorMetadataFile
    )


def _broken(
    view: CheckpointView,
    names: tuple[str, ...],
    read: Callable[[str], bytes],
    chunks: Callable[[str], Iterator[bytes]],
) -> dict[str, str]:
    """State files that do not fit their checksum file, and what to say of each."""
    sidecars = {name: sidecar for name in names if (sidecar := _sidecar_of_state(view, name))}
    fit = in_parallel(lambda name: _fits(view.objects[name], sidecars[name], read, chunks), list(sidecars), THREADS)
    return {
        name: f"{MISMATCH} {sidecar.rpartition('/')[2]}"
        for (name, sidecar), fits in zip(sidecars.items(), fit, strict=True)
        if not fits
    }


def _sidecar_of_state(view: CheckpointView, name: str) -> str | None:
    """The checksum file of a state file. Where there are two kinds, Spark's own is the one it reads."""
    if not isinstance(layout.parse(name), layout.StateFile | layout.StateTable):
        return None
    directory, _, base = name.rpartition("/")
    return next((sidecar for sidecar in (f"{name}.crc", f"{directory}/.{base}.crc") if sidecar in view.objects), None)


def _fits(
    stored: StoredObject, sidecar: str, read: Callable[[str], bytes], chunks: Callable[[str], Iterator[bytes]]
) -> bool:
    try:
        checksum = codec.decode(sidecar, read(sidecar))
    except TooLargeError:
        return stored.size > (CHECKSUM_BYTES // 4 - 2) * BYTES_PER_CHECKSUM  # rightly so: it has as many chunks
    except CheckpointFormatError:
        return sidecar.rpartition("/")[2].startswith(".")  # Hadoop passes over a checksum file that is none
    if not isinstance(checksum, HadoopChecksum | SparkChecksum):
        return True
    if not checksum.fits_size(stored.size):
        return False
    return stored.size > LARGEST_SUMMED or checksum.matches_chunks(chunks(stored.name))
