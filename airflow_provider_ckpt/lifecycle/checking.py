"""Checking a checkpoint: what is read for which rules."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.findings import Finding
from airflow_provider_ckpt.lifecycle.observing import decode_entries, find_restart_set, observe
from airflow_provider_ckpt.store import Store


def inspect(store: Store, *, deep: bool = False) -> tuple[Finding, ...]:
    """Check a checkpoint.

    Args:
        store: Where it is.
        deep: Read every log entry and checksum file and follow the state chain of the newest commit; otherwise a
            listing and a few reads.
    """
    view = observe(store, deep=deep)
    if not deep:
        return check(view)
    readable = [name for name in view.objects if _is_text_log(name)]
    entries, damaged = decode_entries(store, readable, store.read)
    view = replace(view, entries={**view.entries, **entries}, damaged={**view.damaged, **damaged})
    missing: tuple[str, ...] = ()
    newest = view.latest_committed
    if newest is not None and not {layout.offset_entry(newest), layout.commit_entry(newest)} & view.damaged.keys():
        missing = find_restart_set(store, view, newest).missing
    return check(view, missing)


def _is_text_log(name: str) -> bool:
    place = layout.parse(name)
    main = layout.parse(place.of) if isinstance(place, layout.Sidecar) else place
    return isinstance(
        main, layout.LogEntry | layout.QueryMetadataFile | layout.SourceLogEntry | layout.OperatorMetadataFile
    )
