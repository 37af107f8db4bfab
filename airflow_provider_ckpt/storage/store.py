"""Storage behind fsspec: the few operations that everything else is made of, with one set of errors.

What a store promises: ``create`` makes an object appear whole or not at all and never replaces one (atomic on local
disks, S3, GCS and ABFS; elsewhere as good as the fsspec driver's ``mode="create"``); ``delete`` of what is not there is
fine; listings are never served from a cache; a directory that cannot be read is an error and never seems empty.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import IO, Any

from airflow_provider_ckpt.errors import CheckpointError, StoreError
from airflow_provider_ckpt.storage.access import Attributes
from airflow_provider_ckpt.storage.driver_errors import too_large, typed_error
from airflow_provider_ckpt.storage.drivers import (
    Call,
    Calls,
    FileSystem,
    create_from,
    driver_of,
    finds_at_once,
    is_itself,
    is_nameable,
    marks_a_directory,
    protocols,
    service,
    split,
    stored_object,
    truthful,
    unreachable,
)
from airflow_provider_ckpt.storage.local import (
    CHUNK_BYTES,
    LocalDisk,
    See,
    copy_file,
    linked,
    linked_over,
    local_path,
    names_in,
    publish,
    scan,
    stat,
    sum_of,
    unseen,
)
from airflow_provider_ckpt.storage.of_disks import OfDisks
from airflow_provider_ckpt.storage.opening import opening_error, require_location
from airflow_provider_ckpt.storage.packed import PackedObjects
from airflow_provider_ckpt.storage.remove_if import remove_if
from airflow_provider_ckpt.storage.s3 import Headers, copy_in_s3, delete_in_s3, find_at_once, headers_in_s3, same_s3
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.untrusted.limits import CHANGELOG_HEAD_BYTES, most_bytes
from airflow_provider_ckpt.untrusted.secrets import scrub, secrets_of

#: Objects up to this size are held in memory while they are copied.
SMALL_BYTES = 8 << 20

#: What the drivers need to answer truthfully and with as few requests as possible.
_FRESH: Mapping[str, Any] = {"use_listings_cache": False, "skip_instance_cache": True}
_S3: Mapping[str, Any] = {"config_kwargs": {"max_pool_connections": 32}}
_PLAIN: Headers = {}
#: Where ``mode="create"`` is decided by the storage itself.
_EXCLUSIVE = {"s3", "gs", "gcs", "abfs", "abfss", "az"}


class Store(OfDisks):
    """One location: a checkpoint, the root of backups, the output directory of a sink.

    ``calls`` counts for this store and for all that were derived from it. A call is one request on object stores, but
    for listings of more than 1,000 keys and objects of many megabytes.
    """

    def __init__(self, fs: FileSystem, root: str, location: str, calls: Calls | None = None) -> None:
        self.fs = truthful(fs)
        self.root = root.rstrip("/") or "/"
        self.location = scrub(location.rstrip("/") or "/")
        self.calls = calls or Calls()

    @classmethod
    def open(cls, location: str, **storage_options: Any) -> Store:
        """Open a location that fsspec understands: a path, ``file://``, ``s3://``, ``gs://``, ``memory://``, …

        Raises StoreError when no fsspec driver is known for it, StoreUnavailableError when it does not answer.
        """
        require_location(location)
        path = local_path(location)
        if path is not None:
            return cls(LocalDisk(storage_options), path, path)
        options = {**_FRESH, **(_S3 if location.startswith(("s3://", "s3a://")) else {}), **storage_options}
        try:
            fs, root = driver_of(location, options)
        except Exception as error:  # each driver raises errors of its own
            raise opening_error(error, location, storage_options) from None
        return cls(fs, root, location)

    def __repr__(self) -> str:
        return f"Store({self.location!r})"

    @property
    def is_local(self) -> bool:
        """True if the location is a directory of this machine."""
        return isinstance(self.fs, LocalDisk)

    def child(self, name: str) -> Store:
        """The store of a directory inside this one."""
        return type(self)(self.fs, self._path(name), f"{self.location.rstrip('/')}/{name}", self.calls)

    def at(self, location: str) -> Store:
        """The store of any other location on the same file system."""
        if self.is_local:
            path = local_path(location) or location
            return type(self)(self.fs, path, path, self.calls)
        return type(self)(self.fs, str(self.fs._strip_protocol(location)), location, self.calls)  # noqa: SLF001  # fsspec has no other way to its path

    def sibling(self, name: str) -> Store:
        """The store of another directory beside this one; beside what it leads to when it is a link.

        Raises StoreError for a whole bucket and for the root of a disk, which nothing can be beside.
        """
        root, location = (self.real_root, self.real_root) if self.is_local else (self.root, self.location)
        parent = root.rpartition("/")[0]
        if root == "/" or "/" not in root:
            raise StoreError("this is a whole bucket or disk, so nothing can be beside it.", location=self.location)
        return type(self)(self.fs, f"{parent}/{name}", f"{location.rpartition('/')[0]}/{name}", self.calls)

    @property
    def real_root(self) -> str:
        """Where it is on its file system, links on a local disk followed."""
        return os.path.realpath(self.root) if self.is_local else self.root

    def is_within(self, other: Store) -> bool:
        """True if this location is another one or inside it, with all links followed."""
        if self.is_local != other.is_local or service(self.fs) != service(other.fs):
            return False
        return f"{self.real_root.rstrip('/')}/".startswith(f"{other.real_root.rstrip('/')}/")

    @property
    def creates_exclusively(self) -> bool:
        """True if, of several that :meth:`create` one name at once, exactly one is sure to win."""
        return self.is_local or not _EXCLUSIVE.isdisjoint(protocols(self.fs))

    @property
    def base_name(self) -> str:
        """The last part of the location; of what it leads to when it is a link."""
        return self.real_root.rpartition("/")[2]

    # --- reading -----------------------------------------------------------------------------------------------

    def ls(self, directory: str = "", *, into_links: bool = True) -> tuple[dict[str, StoredObject], list[str]]:
        """Objects and subdirectories of one directory, by name relative to the location; one request.

        A directory that does not exist is empty. A link to a directory is one, unless ``into_links`` is false.
        """
        path = self._path(directory) if directory else self.root
        with self._errors(directory):
            try:
                if self.is_local:
                    return scan(path, f"{directory}/" if directory else "", into_links=into_links)
                infos = [info for info in self.fs.ls(path, detail=True) if not marks_a_directory(info)]
            except FileNotFoundError:
                return {}, []
            except NotADirectoryError:
                infos = [{"type": "file", "name": path}]
        if len(infos) == 1 and infos[0]["type"] == "file" and is_itself(infos[0], path, self.fs):
            raise StoreError("this is a file, not a directory", location=self.location, name=directory or None)
        return self._split(info for info in infos if not is_itself(info, path, self.fs))

    def names(self, directory: str) -> list[str]:
        """Names of the objects that :meth:`ls` shows of a directory; a disk is not asked what each of them is."""
        if self.is_local:
            with self._errors(directory), suppress(FileNotFoundError, NotADirectoryError):
                return names_in(self._path(directory), f"{directory}/")
        return list(self.ls(directory)[0])

    def find(self, directory: str = "") -> PackedObjects:
        """Every object below a directory, by name; a request per 1,000 keys on object stores, else one a directory.

        A link is never entered: it is an object.
        """
        objects, todo = PackedObjects(), [directory]
        if not self.is_local and finds_at_once(self.fs):
            with self._errors(directory):
                path = self._path(directory) if directory else self.root
                find_at_once(self.fs, path, lambda infos: objects.add(self._split(infos)[0].values()))
            return objects
        while todo:
            found, directories = self.ls(todo.pop(), into_links=False)
            objects.add((found | unreachable(directories, self.fs)).values())
            todo.extend(filter(self.can_name, directories))
        return objects

    def can_name(self, name: str) -> bool:
        """True if a name from a listing can be used to open, read, write and remove the object."""
        return is_nameable(name, self.fs)

    def first(self, most: int) -> tuple[dict[str, StoredObject], bool] | None:
        """The first objects below the location in the order of their names, by one request.

        Returns:
            Up to ``most`` (at most 1,000) of them by name, and whether that is all; None where the driver cannot do
            that. It can for S3, except for directory buckets, which list in no order.
        """
        if "s3" not in self.fs.protocol or self.root.partition("/")[0].endswith("--x-s3"):
            return None
        with self._errors(""):
            infos = self.fs.find(self.root, detail=True, max_items=most)
        return self._split(infos.values())[0], len(infos) < most

    def exists(self) -> bool:
        """True if there is anything at the location."""
        with self._errors(""):
            return bool(self.fs.exists(self.root))

    def read(self, name: str) -> bytes:
        """The bytes of an object, which must not be more than ``limits.most_bytes``.

        Raises:
            CheckpointNotFoundError: It is not there.
            TooLargeError: It is larger than that.
        """
        most = most_bytes(name)
        return self._whole(name, self.read_up_to(name, most + 1), most)

    def read_up_to(self, name: str, most: int, start: int = 0) -> bytes:
        """The bytes of an object from ``start``, at most that many. Raises CheckpointNotFoundError without one."""
        with self._errors(name):
            try:
                return bytes(self.fs.cat_file(self._path(name), start=start, end=start + most))
            except FileNotFoundError:
                raise
            except OSError:  # object stores have no range of nothing
                if self.is_local or self.fs.info(self._path(name))["size"]:
                    raise
                return b""

    def head(self, name: str) -> bytes:
        """Read as much of a state file as names the files that it needs: the head of a changelog, all of any other."""
        return self.read_up_to(name, CHANGELOG_HEAD_BYTES) if name.endswith(".changelog") else self.read(name)

    def chunks(self, name: str) -> Iterator[bytes]:
        """The bytes of an object, whatever its size, a piece at a time; a small one by one request.

        Raises as :meth:`read_up_to`.
        """
        yield (first := self.read_up_to(name, CHUNK_BYTES))
        if len(first) < CHUNK_BYTES:
            return
        with self._errors(name), self.fs.open(self._path(name), "rb") as source:
            source.seek(CHUNK_BYTES)
            while data := source.read(CHUNK_BYTES):
                yield data

    def sha256(self, name: str) -> tuple[int, str]:
        """Size in bytes and SHA-256 (hex) of an object, in constant memory. Raises CheckpointNotFoundError."""
        return sum_of(self.chunks(name))

    def stat(self, name: str) -> StoredObject | None:
        """One object as a listing shows it; None when it is not there."""
        with self._errors(name), suppress(FileNotFoundError):
            return (
                stat(self._path(name), name) if self.is_local else stored_object(name, self.fs.info(self._path(name)))
            )
        return None

    def headers(self, name: str) -> Headers:
        """Headers that S3 keeps of an object, as a write takes them; empty for any other store."""
        if "s3" not in protocols(self.fs):
            return {}
        with self._errors(name):
            return headers_in_s3(self.fs, self._path(name))

    # --- changing ----------------------------------------------------------------------------------------------

    def create(self, name: str, data: bytes, *, like: Attributes | None = None, headers: Headers = _PLAIN) -> None:
        """Write an object that must not exist yet; ``like`` what is for a disk, ``headers`` are for S3 alone.

        Raises ObjectExistsError.
        """
        with self._errors(name):
            if self.is_local:
                fill = partial(_fill, data)
                publish(self._path(name), fill, replace=False, like=like, root=self.root)
            else:
                self.fs.pipe_file(self._path(name), data, mode="create", **self._taken(headers))

    def write(self, name: str, data: bytes, *, like: Attributes | None = None, headers: Headers = _PLAIN) -> None:
        """Write an object, replacing what was there; readers see the old bytes or the new ones. See :meth:`create`."""
        with self._errors(name):
            if self.is_local:
                publish(self._path(name), partial(_fill, data), replace=True, like=like, root=self.root)
            else:
                self.fs.pipe_file(self._path(name), data, **self._taken(headers))

    def delete(self, name: str) -> None:
        """Remove an object; it is fine when it is not there. Nothing behind a link is ever removed: StoreError."""
        self._require_no_link_above(name)
        with self._errors(name), suppress(FileNotFoundError):
            self.fs.rm_file(self._path(name))

    def delete_if(self, name: str, identity: str) -> bool:
        """Remove an object as long as it is the one with this identity, or is gone; else return False.

        A disk and S3 remove no other one, also when it comes at that moment; elsewhere it is checked right before.
        """
        if self.is_local:
            self._require_no_link_above(name)
            with self._errors(name):
                return remove_if(self._path(name), identity)
        if (stored := self.stat(name)) is None or stored.identity != identity:
            return stored is None
        if "s3" in protocols(self.fs):
            with self._errors(name):
                return delete_in_s3(self.fs, self._path(name), identity)
        Store.delete(self, name)
        return True

    def copy(
        self,
        name: str,
        to: Store,
        to_name: str,
        *,
        is_free: bool = False,
        size: int | None = None,
        see: See = unseen,
        like: Attributes | None = None,
    ) -> tuple[int, str]:
        """Copy an object into another store under a name that is free there; inside one S3, S3 does it.

        Args:
            name: Name of the object to copy.
            to: Where to.
            to_name: Its name there.
            is_free: Nobody else writes there, or reads before all is copied; this saves S3 a request.
            size: Its bytes as a listing has shown them, when the caller compares that later; this saves S3 another.
            see: Called with what is copied; not when S3 copies by itself.
            like: Owner, group, mode and time of the copy, where that is on a disk; see :meth:`attributes`.

        Returns:
            Size in bytes and SHA-256 (hex) of what was read and written.
        """
        if self.is_local and to.is_local:
            with self._errors(name):
                path = to._path(to_name)
                return copy_file(self._path(name), path, is_free=is_free, see=see, like=like, root=to.root)
        if same_s3(self.fs, to.fs):
            with self._errors(name):
                copied = copy_in_s3(self.fs, self._path(name), to._path(to_name), is_free=is_free, size=size)
            if copied is not None:
                return copied
        with self._errors(name), self.fs.open(self._path(name), "rb") as source:
            data = source.read(SMALL_BYTES + 1)
            if len(data) <= SMALL_BYTES:
                to.create(to_name, data, like=like)
                see(data)
                return len(data), hashlib.sha256(data).hexdigest()
            with to._errors(to_name):
                return create_from(to.fs, to._path(to_name), data, source, see, like)

    def keep(self, name: str, to: Store, to_name: str, *, like: Attributes | None = None) -> tuple[int, str] | None:
        """Give an object a second name, without moving bytes where the disk can do that; see ``like`` of :meth:`copy`.

        Returns None when it was linked, else as :meth:`copy`. Of a disk, a copy has what the object has by default.
        """
        if self.is_local and to.is_local:
            with self._errors(name):
                if linked(self._path(name), to._path(to_name), to.root):
                    return None
        like = like or (self.attributes(name) if to.is_local else None)
        return self.copy(name, to, to_name, like=like)

    def put_over(self, name: str, to: Store, to_name: str) -> bool:
        """Put an object in the place of another one, as the very object; False where only bytes can be written."""
        with self._errors(name):
            return self.is_local and to.is_local and linked_over(self._path(name), to._path(to_name))

    # --- inside ------------------------------------------------------------------------------------------------

    def _whole(self, name: str, data: bytes, most: int) -> bytes:
        if len(data) > most:
            raise too_large(self.location, name, most)
        return data

    def _path(self, name: str) -> str:
        if not self.can_name(name):
            raise StoreError(
                f"{name!r} is not a name that can be used inside this location.",
                location=self.location,
                hint="Rename the file, or move it away.",
            )
        return f"{self.root.rstrip('/')}/{name}"

    def _taken(self, headers: Headers) -> Headers:
        return headers if "s3" in protocols(self.fs) else _PLAIN

    def _split(self, infos: Iterable[Mapping[str, Any]]) -> tuple[dict[str, StoredObject], list[str]]:
        return split(infos, self.root.strip("/"), self.fs)

    def _errors(self, name: str) -> Call:
        return Call(self, name)

    def typed_error(self, error: Exception, name: str) -> CheckpointError:
        """Return our error for an exception of a driver."""
        said = (error.strerror or error) if isinstance(error, OSError) else error
        known = isinstance(error, OSError | TypeError) or "Credentials" in type(error).__name__
        place = {"location": self.location, "name": name or None}
        return typed_error(error, self._scrubbed(said if known else repr(error)), place, is_local=self.is_local)

    def safe_cause(self, error: Exception) -> Exception | None:
        """Return the exception of a driver, unless its traceback would show a secret."""
        return error if self._scrubbed(repr(error)) == repr(error) else None

    def _scrubbed(self, said: object) -> str:
        return scrub(str(said), secrets_of(f"{self.fs.protocol}://{self.root}", self.fs.storage_options))


def _fill(data: bytes, file: IO[bytes]) -> None:
    file.write(data)
