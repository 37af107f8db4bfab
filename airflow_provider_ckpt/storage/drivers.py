"""Differences between the drivers of fsspec."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import IO, Any

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.storage.access import Access, Attributes, access
from airflow_provider_ckpt.storage.local import CHUNK_BYTES, LocalDisk, See, publish
from airflow_provider_ckpt.storage.stored_object import StoredObject, is_name

#: A driver of fsspec, or the disk of this machine.
FileSystem = Any


def driver_of(location: str, options: Mapping[str, Any]) -> tuple[FileSystem, str]:
    """The driver of a location, and the location as it calls it. Raises whatever the driver raises."""
    import fsspec  # a local disk does without it

    fs, root = fsspec.core.url_to_fs(location, **options)
    return fs, str(root)


def finds_at_once(fs: FileSystem) -> bool:
    """True if a driver lists everything below a prefix with one request for each 1,000 keys."""
    from fsspec.asyn import AsyncFileSystem

    return isinstance(fs, AsyncFileSystem) and type(fs)._find is not AsyncFileSystem._find  # noqa: SLF001  # whether a driver has its own is seen nowhere else


def marks_a_directory(info: Mapping[str, Any]) -> bool:
    """True if a listed object is a marker of an empty directory, as Hadoop's S3 driver writes them."""
    return info["type"] == "file" and str(info["name"]).endswith("/") and not info["size"]


class Calls:
    """How many calls a storage was asked to answer; counts right from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.count = 0

    def add(self) -> None:
        """Count one more."""
        with self._lock:
            self.count += 1


def protocols(fs: FileSystem) -> tuple[str, ...]:
    """The schemes of a driver."""
    return (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)


def truthful(fs: FileSystem) -> FileSystem:
    """The same file system, which may be shared: it asks for each listing from now on, and reads by one request."""
    cache: Any = getattr(fs, "dircache", None)
    if getattr(cache, "use_listings_cache", False):
        cache.use_listings_cache = False
        cache.clear()
    if "s3" in protocols(fs):
        fs.max_concurrency = 1  # otherwise s3fs asks for the size before it reads
    return fs


def stored_object(name: str, info: Mapping[str, Any], *, is_unreachable: bool = False) -> StoredObject:
    """An object as a listing shows it."""
    keys = ("mtime", "LastModified", "last_modified", "created")
    modified: Any = next((info[key] for key in keys if info.get(key)), None)
    if hasattr(modified, "timestamp"):
        modified = modified.timestamp()
    modified_ms = int(modified * 1000) if isinstance(modified, int | float) else None
    size = int(info["size"] or 0)
    identity = info.get("ETag") or info.get("etag") or f"{size}-{modified}"
    return StoredObject(
        name, size, modified_ms, str(identity).strip('"'), is_unreachable=is_unreachable, access=access_told(info)
    )


def access_told(info: Mapping[str, Any]) -> Access | None:
    """Owner, group and mode in a listing of HDFS (WebHDFS); None where a storage tells no such thing."""
    owner, group, mode = info.get("owner"), info.get("group"), info.get("permission")
    if not (owner and group and isinstance(mode, str) and _OCTAL.fullmatch(mode)):
        return None
    return access(str(owner), str(group), int(mode, 8))


_OCTAL = re.compile(r"[0-7]{3,4}")


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


#: Where a backslash is a letter like any other.
_BACKSLASHES = {"file", "local", "s3", "s3a", "gs", "gcs", "memory"}
#: What the driver of S3 takes for the end of a key.
_S3_VERSION = "?versionId="


def is_nameable(name: str, fs: FileSystem) -> bool:
    """True if a driver accepts a name inside a location and does not read it as the name of something else."""
    return is_name(name) and not is_foreign(name, fs)


def unreachable(directories: Iterable[str], fs: FileSystem) -> dict[str, StoredObject]:
    """Directories of a listing that cannot be entered, by their names with a slash at the end."""
    names = [f"{name}/" for name in directories if not is_nameable(name, fs)]
    return {name: StoredObject(name, 0, None, "", is_unreachable=True) for name in names}


def is_foreign(name: str, fs: FileSystem) -> bool:
    """True if a driver would read a name as the name of something else."""
    if "\\" in name and _BACKSLASHES.isdisjoint(protocols(fs)):
        return True
    return _S3_VERSION in name and "s3" in protocols(fs)


def is_folder_marker(info: Mapping[str, Any]) -> bool:
    """An empty object that means a directory where there are none."""
    return bool(info["name"].endswith(("/", "_$folder$")) and not info["size"])


def service(fs: FileSystem) -> tuple[object, ...]:
    """Key that differs between two storages in which the same path may mean two things."""
    options = fs.storage_options
    own = (options.get(name) for name in ("endpoint_url", "client_kwargs", "account_name", "host"))
    return (*protocols(fs), *map(str, own))


def split(infos: Iterable[Mapping[str, Any]], prefix: str, fs: FileSystem) -> tuple[dict[str, StoredObject], list[str]]:
    """Split a driver's listing below a prefix into the objects by name, and the directories.

    An object whose name no location can hold is there as unreachable, and a directory by its name.
    """
    objects, directories = {}, []
    for info in infos:
        path = info["name"].lstrip("/")
        name = path[len(prefix) :].removeprefix("/") if prefix else path
        if info["type"] == "directory":
            directories.append(name if "s3" in protocols(fs) else name.rstrip("/"))
        elif name and not is_folder_marker(info):
            objects[name] = stored_object(name, info, is_unreachable=not is_nameable(name, fs))
    return objects, directories


def is_itself(info: Mapping[str, Any], path: str, fs: FileSystem) -> bool:
    """True if a driver's listing of a path describes the path itself. S3 has directories without a name below one."""
    if info["type"] == "directory" and "s3" in protocols(fs):
        return str(info["name"]) == path
    return str(info["name"]).strip("/") == path.strip("/")


def create_from(
    fs: FileSystem, path: str, head: bytes, source: IO[bytes], see: See, like: Attributes | None = None
) -> tuple[int, str]:
    """Write an object that must not exist yet from its first bytes and the source of the rest; its size and SHA-256.

    Raises FileExistsError; whatever else the driver raises.
    """
    sha256, size = hashlib.sha256(), 0

    def fill(file: IO[bytes]) -> None:
        nonlocal size
        data = head
        while data:
            file.write(data)
            sha256.update(data)
            see(data)
            size += len(data)
            data = source.read(CHUNK_BYTES)

    if isinstance(fs, LocalDisk):
        publish(path, fill, replace=False, like=like)
    elif fs.exists(path):
        raise FileExistsError(path)
    else:
        with fs.open(path, "wb") as file:
            fill(file)
    return size, sha256.hexdigest()
