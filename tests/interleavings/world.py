"""What a storage holds at one moment, and how it is told from another moment: plain values, no IO."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product


@dataclass(frozen=True, slots=True)
class Object:
    """The bytes of an object, and what its storage says of it.

    Args:
        data: Its content.
        modified_ms: When it was written.
        identity: An inode with its times, or an ETag: what a listing tells one writing from another by.
    """

    data: bytes
    modified_ms: int
    identity: str


class World:
    """Objects by absolute path. ``key`` is equal for two worlds that hold the same."""

    def __init__(self, objects: Mapping[str, Object] | None = None) -> None:
        self.objects: dict[str, Object] = {}
        self.key = 0
        self.sync()
        for path, stored in (objects or {}).items():
            self.put(path, stored)
        self.sync()

    def copy(self) -> World:
        """Another one that holds the same."""
        other = World()
        other.objects, other.key = dict(self.objects), self.key
        other.sync()
        return other

    def sync(self) -> None:
        """Let everything that is there outlive a power cut."""
        self._synced: dict[str, Object] = dict(self.objects)
        self._since: list[tuple[str, Object | None]] = []
        self._kept: list[Object] = []

    def keep(self, stored: Object) -> None:
        """Let the bytes of a file outlive a power cut, if its name does."""
        self._kept.append(stored)

    def cuts(self) -> Iterator[World]:
        """What may be there after a power cut: the names of some moment since the last sync, with or without the bytes
        that were written since."""
        kept = {id(stored) for stored in (*self._synced.values(), *self._kept)}
        for count, has_bytes in product(range(len(self._since) + 1), (True, False)):
            other = World(self._synced)
            for path, stored in self._since[:count]:
                if stored is None:
                    other.remove(path)
                elif has_bytes or id(stored) in kept:
                    other.put(path, stored)
                else:
                    other.put(path, replace(stored, data=b"", identity=f"{stored.identity} cut"))
            other.sync()
            yield other

    def put(self, path: str, stored: Object) -> None:
        """Let an object be at a path, in the place of what was there."""
        self._take(path)
        self._since.append((path, stored))
        self.objects[path] = stored
        self.key ^= _key(path, stored.identity, stored.data)

    def remove(self, path: str) -> None:
        """Let nothing be at a path."""
        self._take(path)
        self._since.append((path, None))

    def _take(self, path: str) -> None:
        if (old := self.objects.pop(path, None)) is not None:
            self.key ^= _key(path, old.identity, old.data)

    def get(self, path: str) -> Object:
        """The object at a path. Raises FileNotFoundError."""
        if path not in self.objects:
            raise FileNotFoundError(2, "No such file or directory", path)
        return self.objects[path]

    def below(self, prefix: str) -> Iterator[tuple[str, Object]]:
        """What lies below a directory, by its name there."""
        inside = f"{prefix.rstrip('/')}/"
        at = len(inside)
        for path, stored in self.objects.items():
            if path.startswith(inside):
                yield path[at:], stored

    def files(self, prefix: str) -> dict[str, bytes]:
        """Names and bytes of what lies below a directory."""
        return {name: stored.data for name, stored in self.below(prefix)}


@lru_cache(maxsize=1 << 16)
def _key(path: str, identity: str, data: bytes) -> int:
    digest = hashlib.blake2b(f"{path}\0{identity}\0".encode() + data, digest_size=8)
    return int.from_bytes(digest.digest(), "big")
