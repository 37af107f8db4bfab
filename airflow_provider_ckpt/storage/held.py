"""Directories of this machine of which nothing outside of some roots is read, whatever links are in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.storage.local import LocalDisk, is_inside
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject


def hold(store: Store, limits: Sequence[str]) -> Store:
    """The same location, of which only what is really inside some directories is read. Nothing is read yet.

    Args:
        store: A location; of an object store, which has no links, it is given back as it is.
        limits: Absolute paths, as :meth:`Roots.limits` has them.
    """
    if not isinstance(store.fs, LocalDisk):
        return store
    return _HeldStore(_HeldDisk(limits, store.fs), store.root, store.location, store.calls)


def require_held(store: Store, directory: str) -> None:
    """Raise StoreError for a link that leads out of what may be read, before others read a directory by themselves.

    Args:
        store: A location; one that nobody holds may be read wherever its links lead.
        directory: Its name in the location.
    """
    if isinstance(store, _HeldStore):
        for name, seen in store.find(directory).items():
            if seen.is_link:
                store.is_link(name)


class _HeldDisk(LocalDisk):
    """The disk, and the directories of it that may be read: of each group, one has to hold a path."""

    def __init__(self, limits: Sequence[str], disk: LocalDisk) -> None:
        super().__init__(disk.storage_options)
        self.groups: tuple[tuple[str, ...], ...] = (
            *(disk.groups if isinstance(disk, _HeldDisk) else ()),
            tuple(limits),
        )

    def holds(self, path: str) -> bool:
        """True if a path may be read, with all its links followed."""
        return all(any(is_inside(limit, path) for limit in group) for group in self.groups)


class _HeldStore(Store):
    """A directory in which a link that leads out is refused, because anybody who writes checkpoints may make links.

    Every name is judged when it is listed or read, by where it is with all its links followed.
    """

    def ls(self, directory: str = "", *, into_links: bool = True) -> tuple[dict[str, StoredObject], list[str]]:
        """List a directory (see :meth:`Store.ls`); a link that leads out is shown as one that leads to nothing."""
        self._require_held(self.root)
        objects, directories = super().ls(directory, into_links=into_links)
        for name, seen in objects.items():
            if seen.is_link and not self._holds(super()._path(name)):
                objects[name] = replace(seen, size=0, modified_ms=None, identity="")
        return objects, directories

    def exists(self) -> bool:
        """True if the location exists; raises where its root leads out (see :meth:`Store.exists`)."""
        self._require_held(self.root)
        return super().exists()

    def _path(self, name: str) -> str:
        path = super()._path(name)
        self._require_held(path, name)
        return path

    def _require_held(self, path: str, name: str | None = None) -> None:
        if not self._holds(path):
            raise StoreError(
                "this is a link that points outside of the roots, so it is not read.",
                location=self.location,
                name=name,
                hint="Replace the link by what it leads to, or let an administrator add the root of its target.",
            )

    def _holds(self, path: str) -> bool:
        return not isinstance(self.fs, _HeldDisk) or self.fs.holds(path)
