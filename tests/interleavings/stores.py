"""Two storages in memory that promise what a POSIX disk and what S3 promises, and no more.

A disk writes a file beside its place and links or renames it there, two calls between which others are; a hard link is
the very file; a copy to a name that nobody else uses is there before it is whole. S3 creates exclusively, shows at once
what was written, has no rename, and lists a page after the other: what is between two pages may change meanwhile. An
ETag is that of the bytes.
"""

from __future__ import annotations

import base64
import hashlib
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from fsspec.asyn import AsyncFileSystem

from airflow_provider_ckpt.storage.local import LocalDisk, See, unseen
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject
from tests.interleavings.clock import time_of
from tests.interleavings.scheduler import Actor, Call
from tests.interleavings.world import Object, World

#: Keys of a page; a real one has 1,000, and a real checkpoint more keys than that.
PAGE = 6


class _Calls:
    """What both have: calls that wait for the turn of their actor."""

    world: World
    actor: Actor | None

    def call(self, kind: str, *paths: str, effect: Callable[[], Any], writes: bool = False) -> Any:
        """Make a call; one of nobody's is made at once."""
        if self.actor is None:
            return effect()
        return self.actor.run.perform(self.actor, Call(kind, paths, writes), effect)

    def new_object(self, data: bytes, identity: str = "") -> Object:
        """What is written now, by whom."""
        name = "nobody" if self.actor is None else self.actor.name
        if self.actor is not None:
            self.actor.writings += 1
        number = self.world.key if self.actor is None else self.actor.writings
        return Object(data, time_of(self.actor), identity or f"{name}-{number}")

    def put(self, path: str, stored: Object) -> None:
        """Change what is at a path."""
        self._changed(path, stored)
        self.world.put(path, stored)

    def remove(self, path: str) -> None:
        """Take away what is at a path. Raises FileNotFoundError."""
        self.world.get(path)
        self._changed(path, None)
        self.world.remove(path)

    def _changed(self, path: str, new: Object | None) -> None:
        if self.actor is not None:
            self.actor.run.changed(self.actor, path, new)


class MemoryDisk(_Calls, LocalDisk):
    """A POSIX disk as one actor sees it."""

    def __init__(self, world: World, actor: Actor | None) -> None:
        super().__init__()
        self.world, self.actor = world, actor

    def exists(self, path: str) -> bool:
        """Whether there is anything."""
        world = self.world
        return bool(
            self.call("exists", path, effect=lambda: path in world.objects or any(True for _ in world.below(path)))
        )

    def cat_file(self, path: str, start: int, end: int) -> bytes:
        """The bytes of a file."""
        return bytes(self.call("read", path, effect=lambda: self.world.get(path).data)[start:end])

    def rm_file(self, path: str) -> None:
        """Remove a file."""
        self.call("delete", path, effect=lambda: self.remove(path), writes=True)

    def listing(self, path: str) -> tuple[tuple[tuple[str, Object], ...], tuple[str, ...]]:
        """Files and directories of a directory."""

        def effect() -> Any:
            files, directories = {}, set()
            for name, stored in self.world.below(path):
                first, slash, _ = name.partition("/")
                if slash:
                    directories.add(first)
                else:
                    files[first] = stored
            return tuple(sorted(files.items(), key=lambda item: item[0])), tuple(sorted(directories))

        answer: tuple[tuple[tuple[str, Object], ...], tuple[str, ...]] = self.call("list", path, effect=effect)
        return answer

    def temporary(self, path: str) -> str:
        """Where a file is written before it is put in its place."""
        directory, _, name = path.rpartition("/")
        writer = "nobody" if self.actor is None else f"{self.actor.name}-{self.actor.writings}"
        return f"{directory}/.{name}.{uuid.uuid5(uuid.NAMESPACE_OID, writer)}.tmp"

    def publish(self, path: str, data: bytes, *, replace: bool) -> None:
        """Write a file beside its place, then put it there; in the place of another one only once it is synced."""
        temporary, stored = self.temporary(path), self.new_object(data)
        if replace:
            self.world.keep(stored)
        self.call("write", temporary, effect=lambda: self.put(temporary, stored), writes=True)

        def effect() -> None:
            is_free = replace or path not in self.world.objects
            if is_free:
                self.put(path, stored)
            self.remove(temporary)
            if not is_free:
                raise FileExistsError(17, "File exists", path)

        self.call("rename" if replace else "link", temporary, path, effect=effect, writes=True)

    def link(self, source: str, target: str) -> None:
        """Give a file a second name that is free."""

        def effect() -> None:
            stored = self.world.get(source)
            if target in self.world.objects:
                raise FileExistsError(17, "File exists", target)
            self.put(target, stored)

        self.call("link", source, target, effect=effect, writes=True)

    def copy_free(self, target: str, data: bytes) -> None:
        """Write a file under its own name, where others see it before it is whole."""

        def begin() -> None:
            if target in self.world.objects:
                raise FileExistsError(17, "File exists", target)
            self.put(target, self.new_object(b""))

        self.call("open", target, effect=begin, writes=True)
        whole = self.new_object(data)
        self.call("fill", target, effect=lambda: self.put(target, whole), writes=True)


class DiskStore(Store):
    """The package's store over a disk in memory: only what asks the operating system is another."""

    fs: MemoryDisk

    @property
    def real_root(self) -> str:
        return self.root

    def ls(self, directory: str = "", *, into_links: bool = True) -> tuple[dict[str, StoredObject], list[str]]:
        prefix = f"{directory}/" if directory else ""
        files, directories = self.fs.listing(self._path(directory) if directory else self.root)
        found = {f"{prefix}{name}": _stored(f"{prefix}{name}", item) for name, item in files}
        return found, [f"{prefix}{name}" for name in directories]

    def names(self, directory: str) -> list[str]:
        return list(self.ls(directory)[0])

    def is_link(self, name: str) -> bool:
        return False

    def stat(self, name: str) -> StoredObject | None:
        path = self._path(name)
        with suppress(FileNotFoundError):
            return _stored(name, self.fs.call("stat", path, effect=lambda: self.fs.world.get(path)))
        return None

    def require_inside(self, name: str) -> None:
        """There are no links."""

    def attributes(self, name: str) -> None:
        """This disk has no owners and no modes."""

    def attributes_to_be(self, name: str) -> None:
        """As above."""

    def make_like(self, model: object) -> None:
        """As above."""

    def obstacle(self, name: str) -> None:
        """As above."""

    def create(self, name: str, data: bytes, *, like: None = None, headers: object = None) -> None:
        with self._errors(name):
            self.fs.publish(self._path(name), data, replace=False)

    def write(self, name: str, data: bytes, *, like: None = None, headers: object = None) -> None:
        with self._errors(name):
            self.fs.publish(self._path(name), data, replace=True)

    def flush(self) -> None:
        """Everything on the disk outlives a power cut."""
        self.fs.world.sync()

    def delete(self, name: str) -> None:
        with self._errors(name), suppress(FileNotFoundError):
            self.fs.rm_file(self._path(name))

    def delete_if(self, name: str, identity: str) -> bool:
        if is_it := (stored := self.stat(name)) is None or stored.identity == identity:
            DiskStore.delete(self, name)
        return is_it

    def remove_empty(self, directory: str) -> None:
        """There are no empty directories."""

    def copy(
        self,
        name: str,
        to: Store,
        to_name: str,
        *,
        is_free: bool = False,
        size: int | None = None,
        see: See = unseen,
        like: None = None,
    ) -> tuple[int, str]:
        with self._errors(name):
            data = self.fs.cat_file(self._path(name), 0, 1 << 30)
            see(data)
            if is_free:
                self.fs.copy_free(to._path(to_name), data)
            else:
                self.fs.publish(to._path(to_name), data, replace=False)
        return len(data), hashlib.sha256(data).hexdigest()

    def keep(self, name: str, to: Store, to_name: str, *, like: None = None) -> tuple[int, str] | None:
        with self._errors(name):
            self.fs.link(self._path(name), to._path(to_name))
        return None

    def put_over(self, name: str, to: Store, to_name: str) -> bool:
        with self._errors(name):
            source, target = self._path(name), to._path(to_name)
            beside = self.fs.temporary(target)
            self.fs.link(source, beside)

            def effect() -> None:
                self.fs.put(target, self.fs.world.get(beside))
                self.fs.remove(beside)

            self.fs.call("rename", beside, target, effect=effect, writes=True)
        return True


def _stored(name: str, item: Object) -> StoredObject:
    return StoredObject(name, len(item.data), item.modified_ms, item.identity)


class MemoryS3(_Calls, AsyncFileSystem):
    """S3 as one actor sees it, under the names that its driver has; the package's own store speaks to it."""

    protocol = ("s3", "s3a")
    cachable = False

    def __init__(self, world: World, actor: Actor | None) -> None:  # the driver's own would start a thread
        self.world, self.actor, self.storage_options = world, actor, {}

    async def _find(self, path: str, **options: Any) -> Any:
        raise NotImplementedError  # that there is one says that a tree is listed by pages

    def find(self, path: str, *, detail: bool = True, max_items: int | None = None) -> dict[str, Any]:
        """Every key below a prefix, a page at a time; only the first page with ``max_items``."""
        found: dict[str, Any] = {}
        after = ""
        while True:
            page = self.call("list", path, effect=lambda after=after: self._page(path, after, max_items or PAGE))
            found.update((f"{path}/{name}", _info(f"{path}/{name}", item)) for name, item in page)
            if max_items or len(page) < PAGE:
                return found
            after = page[-1][0]

    def _page(self, path: str, after: str, most: int) -> tuple[tuple[str, Object], ...]:
        keys = sorted((item for item in self.world.below(path) if item[0] > after), key=lambda item: item[0])
        return tuple(keys[:most])

    def ls(self, path: str, *, detail: bool = True) -> list[dict[str, Any]]:
        """Keys and common prefixes of a directory, a page at a time."""
        infos: list[dict[str, Any]] = []
        after = ""
        while True:
            page = self.call("list", path, effect=lambda after=after: self._page_of_directory(path, after))
            infos += [_info(f"{path}/{name}", item) for name, item in page]
            if len(page) < PAGE:
                break
            after = page[-1][0]
        if not infos:
            raise FileNotFoundError(2, "No such file or directory", path)
        return infos

    def _page_of_directory(self, path: str, after: str) -> tuple[tuple[str, Object | None], ...]:
        entries: dict[str, Object | None] = {}
        for name, item in self.world.below(path):
            first, slash, _ = name.partition("/")
            entries[first] = None if slash else item
        keys = sorted(name for name in entries if name > after)[:PAGE]
        return tuple((name, entries[name]) for name in keys)

    def exists(self, path: str, **options: Any) -> bool:
        """Whether there is a key, or one below."""
        world = self.world
        return bool(
            self.call("exists", path, effect=lambda: path in world.objects or any(True for _ in world.below(path)))
        )

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """What is known of a key."""
        return _info(path, self.call("stat", path, effect=lambda: self.world.get(path)))

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        """The bytes of a key."""
        return bytes(self.call("read", path, effect=lambda: self.world.get(path).data)[start:end])

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        """Write a key; with ``create`` only where there is none."""

        def effect() -> None:
            if mode == "create" and path in self.world.objects:
                raise FileExistsError(17, "File exists", path)
            self.put(path, self._tagged(value))

        self.call("create" if mode == "create" else "write", path, effect=effect, writes=True)

    def rm_file(self, path: str) -> None:
        """Remove a key; it is fine when it is not there."""

        def effect() -> None:
            with suppress(FileNotFoundError):
                self.remove(path)

        self.call("delete", path, effect=effect, writes=True)

    def split_path(self, path: str) -> tuple[str, str, None]:
        """Bucket and key."""
        bucket, _, key = path.partition("/")
        return bucket, key, None

    def call_s3(self, method: str, **arguments: Any) -> dict[str, Any]:
        """A request by its name."""
        path = f"{arguments['Bucket']}/{arguments['Key']}"
        if method == "head_object":
            stored = self.call("stat", path, effect=lambda: self.world.get(path))
            return {"ContentLength": len(stored.data)}
        if method == "delete_object":
            self.rm_file(path)
            return {}
        assert method == "copy_object", method
        source = f"{arguments['CopySource']['Bucket']}/{arguments['CopySource']['Key']}"

        def effect() -> bytes:
            data = self.world.get(source).data
            self.put(path, self._tagged(data))
            return data

        data = self.call("copy", source, path, effect=effect, writes=True)
        return {"CopyObjectResult": {"ChecksumSHA256": base64.b64encode(hashlib.sha256(data).digest()).decode()}}

    def _tagged(self, data: bytes) -> Object:
        return self.new_object(data, hashlib.md5(data, usedforsecurity=False).hexdigest())


def _info(path: str, stored: Object | None) -> dict[str, Any]:
    if stored is None:
        return {"name": path, "type": "directory", "size": 0}
    return {
        "name": path,
        "type": "file",
        "size": len(stored.data),
        "ETag": stored.identity,
        "LastModified": stored.modified_ms / 1000,
    }


#: The root of each storage.
ROOTS = {"disk": "/lake", "s3": "lake"}


def open_store(kind: str, world: World, actor: Actor | None, name: str) -> Store:
    """A location of a storage, as an actor sees it."""
    path = f"{ROOTS[kind]}/{name}"
    if kind == "disk":
        return DiskStore(MemoryDisk(world, actor), path, path)
    return Store(MemoryS3(world, actor), path, f"s3://{path}")
