"""What the drivers of fsspec do not agree on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import fsspec
from fsspec.dircache import DirCache

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.objects import StoredObject


def protocols(fs: fsspec.AbstractFileSystem) -> tuple[str, ...]:
    """The schemes of a driver."""
    return (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)


def truthful(fs: fsspec.AbstractFileSystem) -> fsspec.AbstractFileSystem:
    """The same file system, which may be shared: it asks for each listing from now on, and reads by one request."""
    cache = getattr(fs, "dircache", None)
    if isinstance(cache, DirCache) and cache.use_listings_cache:
        cache.use_listings_cache = False
        cache.clear()
    if "s3" in protocols(fs):
        fs.max_concurrency = 1  # otherwise s3fs asks for the size before it reads
    return fs


def stored_object(name: str, info: Mapping[str, Any]) -> StoredObject:
    """An object as a listing shows it."""
    keys = ("mtime", "LastModified", "last_modified", "created")
    modified: Any = next((info[key] for key in keys if info.get(key)), None)
    if hasattr(modified, "timestamp"):
        modified = modified.timestamp()
    modified_ms = int(modified * 1000) if isinstance(modified, int | float) else None
    size = int(info["size"] or 0)
    identity = info.get("ETag") or info.get("etag") or f"{size}-{modified}"
    return StoredObject(name, size, modified_ms, str(identity).strip('"'))


class Call:
    """One call of a storage: it is counted, and what the driver raises becomes an error of ours."""

    __slots__ = ("_name", "_store")

    def __init__(self, store: Any, name: str) -> None:
        self._store, self._name = store, name

    def __enter__(self) -> None:
        self._store.calls.add()

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, CheckpointError):
            raise self._store.typed_error(error, self._name) from self._store.safe_cause(error)
