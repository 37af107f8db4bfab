"""Checking a checkpoint: what is read for which rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.checks.state import MISMATCH
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.checksum import HadoopChecksum, SparkChecksum
from airflow_provider_ckpt.errors import CheckpointFormatError
from airflow_provider_ckpt.findings import Finding
from airflow_provider_ckpt.lifecycle.listing import Look
from airflow_provider_ckpt.lifecycle.observing import decode_entries, find_restart_set, observe
from airflow_provider_ckpt.sinks import read_file_sink
from airflow_provider_ckpt.store import Store
from airflow_provider_ckpt.view import CheckpointView


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
    view = observe(store, deep=deep, look=look)
    if sink is not None:
        view = replace(view, sink=read_file_sink(sink))
    return _look_deeper(store, view) if deep else view


def _look_deeper(store: Store, view: CheckpointView) -> CheckpointView:
    readable = [name for name in view.objects if _is_text_log(name)]
    entries, damaged = decode_entries(store, readable, store.read)
    view = replace(view, entries={**view.entries, **entries}, damaged={**view.damaged, **damaged})
    newest = view.latest_committed
    if newest is None or {layout.offset_entry(newest), layout.commit_entry(newest)} & view.damaged.keys():
        return view
    try:
        needed = find_restart_set(store, view, newest)
    except CheckpointFormatError as error:
        return replace(view, missing=(f"{error.name}: {error.message}",))
    broken = dict(_broken(store, view, needed.names))
    if broken:
        needed = find_restart_set(store, view, newest, broken)
    return replace(view, missing=needed.missing, repaired=needed.repaired)


def _is_text_log(name: str) -> bool:
    place = layout.parse(name)
    main = layout.parse(place.of) if isinstance(place, layout.Sidecar) else place
    return isinstance(
        main, layout.LogEntry | layout.QueryMetadataFile | layout.SourceLogEntry | layout.OperatorMetadataFile
    )


def _broken(store: Store, view: CheckpointView, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """State files that do not fit their checksum file. Where there are two kinds, Spark's own is the one it reads."""
    for name in names:
        if not isinstance(layout.parse(name), layout.StateFile | layout.StateTable):
            continue
        directory, _, base = name.rpartition("/")
        own, hadoop = f"{name}.crc", f"{directory}/.{base}.crc"
        sidecar = own if own in view.objects else hadoop
        if sidecar in view.objects and not _fits(store, name, sidecar):
            yield name, f"{MISMATCH} {sidecar.rpartition('/')[2]}"


def _fits(store: Store, name: str, sidecar: str) -> bool:
    try:
        checksum = codec.decode(sidecar, store.read(sidecar))
    except CheckpointFormatError:
        return False
    return not isinstance(checksum, HadoopChecksum | SparkChecksum) or checksum.matches(store.read(name))
