"""Copying a checkpoint's objects into a backup, or referring to the copy that an earlier backup has."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from threading import Lock

from airflow_provider_ckpt.backup.manifest import Manifest, ManifestObject
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import CheckpointNotFoundError, TooLargeError
from airflow_provider_ckpt.storage.concurrency import LOCAL_THREADS, THREADS
from airflow_provider_ckpt.storage.local import CHUNK_BYTES, See, unseen
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.untrusted.limits import largest, size_text

#: Calls a function for each of some names.
ForEach = Callable[[Callable[[str], None], list[str]], object]

#: After how many bytes the disk is asked to write them, while the next ones are copied.
WRITE_BYTES = 128 << 20


def copies_at_once(source: Store, target: Store) -> int:
    """How many copies between two stores are best under way at a time."""
    return LOCAL_THREADS if source.is_local and target.is_local else THREADS


def refuse_too_large(store: Store, name: str, size: int) -> None:
    """Raise TooLargeError when a file is larger than anything that its name can mean; it is not copied."""
    most = largest(name)
    if size > most:
        raise TooLargeError(
            f"the file is larger than {size_text(most)}, so it is not copied.",
            location=store.location,
            name=name,
            hint="Spark never writes such a large file. Restore it from a backup.",
        )


class MovedError(Exception):
    """A file of the checkpoint went or changed while it was copied."""


class Copier:
    """Fills one backup, and remembers what it has, so that a new attempt does not read it again.

    An object is referred to instead of copied when ``base``, an earlier backup, has one of the same
    name whose size and identity are those that the checkpoint's listing shows now. A state file that was written anew
    under its old name has another identity and is copied.

    Args:
        checkpoint: Where to copy from.
        root: Location of the backup root.
        prefix: Where the copies go, relative to the root.
        base: The backup that may be referred to.
    """

    def __init__(self, checkpoint: Store, root: Store, prefix: str, base: Manifest | None) -> None:
        self._checkpoint, self._root, self._prefix = checkpoint, root, prefix
        self._base = {item.name: item for item in base.objects} if base else {}
        self._base_is_judged = base is not None and base.facts.get("judged") is True
        self._listed: Mapping[str, StoredObject] = {}
        self._unwritten, self._flushing = 0, Lock()
        self.held: dict[str, ManifestObject] = {}

    def is_own(self, name: str) -> bool:
        """True if the backup has its own copy of an object."""
        return name in self.held and self.held[name].stored_at == f"{self._prefix}/{name}"

    def is_known(self, names: Iterable[str | None]) -> bool:
        """True if an earlier backup judged the content of these objects and found nothing broken."""
        return self._base_is_judged and not any(name and (name not in self.held or self.is_own(name)) for name in names)

    # --- filling -----------------------------------------------------------------------------------------------

    def refer(self, names: Iterable[str]) -> None:
        """Take in what an earlier backup has of some objects; nothing is read."""
        for name in names:
            if name not in self.held and (item := self._reusable(name)) is not None:
                self.held[name] = item

    def add(self, name: str, see: See = unseen) -> None:
        """Take an object in, unless it is here already; ``see`` is called with what is copied.

        Raises MovedError when it is gone.
        """
        if name not in self.held:
            self.held[name] = self._reusable(name) or self._copy(name, see)

    def flush(self, least: int = 1) -> None:
        """Return when the copies made so far outlive a power cut, unless fewer bytes than ``least`` do not."""
        with self._flushing:
            if self._unwritten >= least:
                self._unwritten = 0  # a copy that is made meanwhile asks for the next flush
                self._root.flush()

    def try_add(self, name: str) -> None:
        """Take an object in, unless it is gone."""
        with suppress(MovedError):
            self.add(name)

    def copy_anew(self, names: Iterable[str]) -> None:
        """Copy log entries, those of an earlier attempt again; an entry that is not there is left out."""
        for name in names:
            self._forget(name)
            with suppress(MovedError):
                self.held[name] = self._copy(name)

    def read(self, name: str) -> bytes:
        """The bytes of an object (of a large changelog the beginning), which is taken in; a bad reference is copied."""
        self.add(name)
        item = self.held[name]
        if self.is_own(name):
            return self._root.head(item.stored_at)
        with suppress(CheckpointNotFoundError):
            data = self._root.head(item.stored_at)
            sha256 = (
                hashlib.sha256(data).hexdigest() if len(data) == item.size else self._root.sha256(item.stored_at)[1]
            )
            if sha256 == item.sha256:
                return data
        self._give_up_reference(name)
        return self.read(name)

    def chunks(self, name: str) -> Iterator[bytes]:
        """The bytes of an object, whatever its size, which is taken in, a piece at a time.

        Those of a small one are what was just copied; they are read back when S3 copies by itself.
        """
        copied = _Copied()
        self.add(name, copied.see)
        item = self.held[name]
        yield from copied.pieces if copied.is_all_of(item) else self._root.chunks(item.stored_at)

    def mend_references(self, for_each: ForEach) -> None:
        """Check by one listing that everything that is referred to exists, and copy what does not.

        Raises MovedError when that is gone from the checkpoint as well.
        """
        referred = [name for name in self.held if not self.is_own(name)]
        directories = sorted({self.held[name].stored_at.partition("/")[0] for name in referred})
        there: dict[str, StoredObject] = {}
        for_each(lambda directory: there.update(self._root.find(directory)), directories)
        lost = [name for name in referred if not _is_whole(self.held[name], there)]
        for name in lost:
            self._give_up_reference(name)
        for_each(self.add, lost)

    def _reusable(self, name: str) -> ManifestObject | None:
        item, listed = self._base.get(name), self._listed.get(name)
        if item is None or listed is None or listed.modified_ms is None:  # nothing would tell a rewrite
            return None
        return item if (item.size, item.identity) == (listed.size, listed.identity) else None

    def _give_up_reference(self, name: str) -> None:
        del self.held[name]
        self._base.pop(name, None)

    def _copy(self, name: str, see: See = unseen) -> ManifestObject:
        stored_at = f"{self._prefix}/{name}"
        try:
            listed = self._listed[name].size if name in self._listed else None
            if _is_known(name):
                refuse_too_large(self._checkpoint, name, listed or 0)
            size, sha256 = self._checkpoint.copy(name, self._root, stored_at, is_free=True, size=listed, see=see)
        except CheckpointNotFoundError:
            raise MovedError from None
        self._unwritten += max(size, 1)
        if self._unwritten >= WRITE_BYTES and not self._flushing.locked():
            self.flush(WRITE_BYTES)
        return ManifestObject(name, size, sha256, stored_at)

    # --- comparing with listings -------------------------------------------------------------------------------

    def objects(self, names: Iterable[str]) -> dict[str, StoredObject]:
        """The copied objects, as a listing would show them."""
        return {name: StoredObject(name, self.held[name].size, None, "") for name in names if name in self.held}

    def use_listing(self, objects: Mapping[str, StoredObject]) -> None:
        """Go by a new listing: what it shows as rewritten since the last one is forgotten."""
        for name in list(self.held):
            before, now = self._listed.get(name), objects.get(name)
            if before is not None and now is not None and before.identity not in ("", now.identity):
                self._forget(name)
        self._listed = objects

    def require_unchanged(self, names: Iterable[str], now: Mapping[str, StoredObject]) -> None:
        """Raise MovedError when an object was rewritten or was not whole; one that Spark purged meanwhile is fine."""
        for name in names:
            before = self._listed[name]
            rewritten = name in now and before.identity not in ("", now[name].identity)
            if rewritten or self.held[name].size != before.size:
                self._forget(name)
                raise MovedError

    def changed(self, names: Collection[str], now: Mapping[str, StoredObject]) -> tuple[str, ...]:
        """Those of some objects that were not whole, or that a new listing shows changed or not at all."""
        return tuple(
            sorted(
                name
                for name in names
                if name not in now
                or name not in self.held
                or now[name].identity != self._listed[name].identity
                or self.held[name].size != now[name].size
            )
        )

    def keep_only(self, names: Collection[str]) -> None:
        """Delete copies that an earlier attempt made and the backup does not need."""
        for name in self.held.keys() - set(names):
            self._forget(name)

    def manifest_object(self, name: str, changed: Collection[str]) -> ManifestObject:
        """Entry of an object in the manifest; the identity of a changed object is not recorded, so nothing refers to
        it.
        """
        held = self.held[name]
        identity = "" if name in changed else self._listed[name].identity
        return ManifestObject(name, held.size, held.sha256, held.stored_at, identity)

    def _forget(self, name: str) -> None:
        if self.is_own(name):
            self._root.delete(self.held[name].stored_at)
        self.held.pop(name, None)


class _Copied:
    """Copied bytes of an object, if it is small."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self._size = 0

    def see(self, piece: bytes | memoryview) -> None:
        """Keep a piece."""
        self._size += len(piece)
        if self._size <= CHUNK_BYTES:
            self.pieces.append(bytes(piece))

    def is_all_of(self, item: ManifestObject) -> bool:
        """True if all of an object was seen and kept."""
        return self._size == item.size <= CHUNK_BYTES


def _is_known(name: str) -> bool:
    """True if Spark writes such a file, or its checksum file; an unknown file may have any size."""
    place = layout.parse(name)
    return not isinstance(layout.parse(place.of) if isinstance(place, layout.Sidecar) else place, layout.Other)


def _is_whole(item: ManifestObject, there: Mapping[str, StoredObject]) -> bool:
    stored = there.get(item.stored_at)
    return stored is not None and stored.size == item.size
