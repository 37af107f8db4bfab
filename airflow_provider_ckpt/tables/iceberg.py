"""The metadata of an Iceberg table: the current file of it, and the snapshots that the current one comes from."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.storage.store import Store
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
        hint = "pip install 'ckpt-cli[iceberg]'"
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
