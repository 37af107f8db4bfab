"""One stored object as a listing shows it; the word that the store, the views and the plans have in common."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from airflow_provider_ckpt.storage.access import Access


@lru_cache(maxsize=4_096)  # the files of one checkpoint are called as those of another
def is_name(name: str) -> bool:
    """True if a text names an object inside a location: no empty part, no ``.`` and no ``..`` between its slashes.

    Some storages take a backslash for a slash, so none leads up either.
    """
    return not _NO_NAME.search(name)


_NO_NAME = re.compile(r"(?:\A|[/\\])\.{0,2}(?:[/\\]|\Z)|\0")


@dataclass(frozen=True, slots=True)
class StoredObject:
    """A file or key, seen from outside.

    Args:
        name: Relative to the location, with slashes.
        size: Bytes.
        modified_ms: Last modification, epoch milliseconds; None where a store does not tell.
        identity: Changes whenever the content may have changed: an ETag, or size and modification time.
        is_link: True if it is a symbolic link of a local disk, to a file or to a directory.
        is_unreachable: True if its name is one that no location can hold, or it is no regular file of a disk, such as a
            named pipe: it is listed, and is neither read, copied nor removed. The name of a directory that is so ends
            with a slash.
        access: Owner, group and mode; None where the storage has none, or does not tell. It is not content.
    """

    name: str
    size: int
    modified_ms: int | None
    identity: str
    is_link: bool = False
    is_unreachable: bool = False
    access: Access | None = field(default=None, compare=False)


def digest(objects: Iterable[StoredObject]) -> str:
    """One hash over names and identities: equal when nothing was added, removed or rewritten in between."""
    sha256 = hashlib.sha256()
    for stored in sorted(objects, key=lambda item: item.name):
        sha256.update(f"{stored.name}\0{stored.identity}\n".encode(errors="surrogatepass"))
    return sha256.hexdigest()
