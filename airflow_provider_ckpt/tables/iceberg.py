"""The metadata of an Iceberg table: the current file of it, and the snapshots that the current one comes from.

A source and a sink follow the main branch alone, and so does all that is here.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.tables.iceberg_history import LEAST_KEPT, MAX_AGE_MS, Expiry, History, Snapshot
from airflow_provider_ckpt.untrusted.bounded_json import require_bounded
from airflow_provider_ckpt.untrusted.limits import TABLE_METADATA_BYTES, size_text

METADATA = "metadata"
_HINT = f"{METADATA}/version-hint.text"
#: ``v7.metadata.json`` of a Hadoop table, ``00007-<uuid>.metadata.json`` of a catalog's, either also gzipped.
_NAME = re.compile(rf"{METADATA}/(?:v(\d+)|(\d{{5,}})-.+?)(?:\.gz)?\.metadata\.json")


def ancestors_of(metadata: Any, store: Store) -> Iterator[Any]:
    """The current snapshot and those that it comes from, newest first, as far as they are kept. Raises StoreError."""
    left = {snapshot.snapshot_id: snapshot for snapshot in metadata.snapshots}
    snapshot_id = metadata.current_snapshot_id
    known = frozenset(left)
    while snapshot_id in left:
        snapshot = left.pop(snapshot_id)
        yield snapshot
        snapshot_id = snapshot.parent_snapshot_id
    if snapshot_id in known:
        raise StoreError(f"snapshot {snapshot_id} is its own ancestor", location=store.location)


def read_history(store: Store, metadata_file: str = "") -> History:
    """The snapshots of a table, from the metadata file that was declared or the newest. Raises StoreError."""
    metadata = current_metadata(store, metadata_file)
    ancestors = tuple(_snapshot(snapshot) for snapshot in ancestors_of(metadata, store))
    ids = {snapshot.snapshot_id for snapshot in ancestors}
    others = [_snapshot(snapshot) for snapshot in metadata.snapshots if snapshot.snapshot_id not in ids]
    return History(
        store.location,
        str(metadata.table_uuid),
        ancestors,
        {snapshot.snapshot_id: snapshot for snapshot in others},
        _expiry(metadata),
    )


def _snapshot(snapshot: Any) -> Snapshot:
    told = snapshot.summary or {}
    return Snapshot(
        snapshot.snapshot_id,
        snapshot.parent_snapshot_id,
        snapshot.timestamp_ms,
        snapshot.summary.operation.value if snapshot.summary else "",
        added_files=_number(told, "added-data-files"),
        added_rows=_number(told, "added-records"),
        added_bytes=_number(told, "added-files-size"),
        removed_files=_number(told, "deleted-data-files"),
        removed_rows=_sum(_number(told, "deleted-records"), _number(told, "added-position-deletes")),
        total_files=_number(told, "total-data-files"),
    )


def _number(told: Mapping[str, Any], key: str) -> int | None:
    text = told.get(key)
    return int(text) if isinstance(text, str) and len(text) < 20 and text.isascii() and text.isdecimal() else None


def _sum(*numbers: int | None) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def _expiry(metadata: Any) -> Expiry:
    """Expiry settings of the table; settings of its main branch take precedence."""
    main = metadata.refs.get("main")
    told = metadata.properties
    age_ms = main.max_snapshot_age_ms if main else None
    least = main.min_snapshots_to_keep if main else None
    others = (ref.snapshot_id for name, ref in metadata.refs.items() if name != "main")
    return Expiry(
        age_ms or _number(told, "history.expire.max-snapshot-age-ms") or MAX_AGE_MS,
        least or _number(told, "history.expire.min-snapshots-to-keep") or LEAST_KEPT,
        frozenset(others),
    )


def current_metadata(store: Store, metadata_file: str = "") -> Any:
    """The metadata of a table, of the file that was declared or of the newest. Raises StoreError."""
    return _parse(store, metadata_file or _current(store))


def _current(store: Store) -> str:
    """Name of the current metadata file: what the version hint of a Hadoop table says, else the newest number."""
    objects = store.ls(METADATA)[0]
    numbers = {name: int(match[1] or match[2]) for name in objects if (match := _NAME.fullmatch(name))}
    hint = store.read(_HINT).decode(errors="replace").strip() if _HINT in objects else ""
    newest = int(hint) if hint.isdecimal() else max(numbers.values(), default=-1)
    chosen = [name for name, number in numbers.items() if number == newest]
    if len(chosen) != 1:
        found = "no metadata file" if not chosen else f"{len(chosen)} metadata files of version {newest}"
        raise StoreError(
            f"the table has {found}; only the catalog knows which one is current",
            location=store.location,
            hint="Declare the metadata file: iceberg:<URI of the metadata.json>.",
        )
    return chosen[0]


def _parse(store: Store, name: str) -> Any:
    try:
        from pyiceberg.exceptions import ValidationError
        from pyiceberg.table.metadata import TableMetadataUtil
    except ImportError as error:
        hint = "pip install 'spark-ckpt[iceberg]'"
        raise StoreError("Iceberg tables need pyiceberg", location=store.location, hint=hint) from error
    data = store.read_up_to(name, TABLE_METADATA_BYTES + 1)
    try:
        with gzip.GzipFile(fileobj=BytesIO(data)) if data.startswith(b"\x1f\x8b") else BytesIO(data) as file:
            text = file.read(TABLE_METADATA_BYTES + 1)
        if len(text) > TABLE_METADATA_BYTES:
            raise ValueError(f"it is larger than {size_text(TABLE_METADATA_BYTES)}")
        require_bounded(text)
        return TableMetadataUtil.parse_raw(text.decode())
    except (ValueError, OSError, EOFError, zlib.error, RecursionError, ValidationError) as error:
        raise StoreError(f"cannot be read: {error}", location=store.location, name=name) from error
