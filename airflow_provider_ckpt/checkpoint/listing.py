"""Listing what the default rules need of a checkpoint, with as few requests as the storage allows.

Where a storage lists a whole tree in the order of names (S3), the first page of it shows ``commits/``, ``metadata`` and
``offsets/`` at once, because state and source logs come after them. On any other storage each directory is a request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from airflow_provider_ckpt.checkpoint.inside import without_inside
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.storage.drivers import unreachable
from airflow_provider_ckpt.storage.packed import PackedObjects
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject

PAGE_OBJECTS = 1_000
_LOGS = (layout.COMMITS, layout.OFFSETS)
_LAST = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class DirectoryListing:
    """Listing of a directory that may be a checkpoint.

    Args:
        listed_at_ms: Time of the listing, epoch milliseconds.
        objects: Objects at the top, and in the two logs when ``logs_seen``.
        directories: Directories at the top, and inside the two logs when ``logs_seen``.
        logs_seen: True if the two logs were listed.
        stateful: True if there is state of at least one operator; None while that is not known.
        is_whole: True if ``directories`` has every directory.
    """

    listed_at_ms: int
    objects: Mapping[str, StoredObject]
    directories: frozenset[str]
    logs_seen: bool = False
    stateful: bool | None = None
    is_whole: bool = True

    @property
    def is_checkpoint(self) -> bool:
        """True if the top has the parts of a checkpoint, even of a damaged one."""
        if self.directories & {layout.OFFSETS, layout.COMMITS}:
            return True
        return layout.METADATA in self.objects and bool(self.directories & {layout.SOURCES, layout.STATE})


def list_checkpoint(store: Store) -> DirectoryListing:
    """Read a directory: one request for a checkpoint, on S3 at most two for anything else. Raises StoreError."""
    started_ms = now_ms()
    page = store.first(PAGE_OBJECTS)
    if page and page[0]:
        listing = _listing_of_page(started_ms, *page)
        if listing is not None:
            return listing
    objects, directories = store.ls()
    return DirectoryListing(
        started_ms, objects, frozenset(directories), stateful=None if layout.STATE in directories else False
    )


def _listing_of_page(at_ms: int, objects: Mapping[str, StoredObject], whole: bool) -> DirectoryListing | None:
    """The listing that a first page of a tree is good for; None when too much may come after it."""
    seen_up_to = _LAST if whole else max(objects)
    directories = frozenset(directory for name in objects for directory in _directories_of(name))
    stateful: bool | None = any(_is_below_operator(name) for name in objects)
    if not stateful and seen_up_to < f"{layout.STATE}/{_LAST}":
        stateful = None
    listing = DirectoryListing(at_ms, _top_and_logs(objects), directories, True, stateful, whole)
    seen = seen_up_to > f"{layout.OFFSETS}/{_LAST}" and listing.is_checkpoint
    return listing if whole or seen else None


def _directories_of(name: str) -> Iterator[str]:
    """The directory at the top that an object is in, and the one inside a log, where none belongs."""
    parts = name.split("/")
    if len(parts) > 1:
        yield parts[0]
    if len(parts) > 2 and parts[0] in _LOGS:
        yield f"{parts[0]}/{parts[1]}"


def _top_and_logs(objects: Mapping[str, StoredObject]) -> dict[str, StoredObject]:
    return {
        name: stored
        for name, stored in objects.items()
        if "/" not in name or name.rpartition("/")[0] in _LOGS or stored.is_unreachable
    }


def _is_below_operator(name: str) -> bool:
    return name.count("/") > 1 and layout.operator_of(name) is not None


def list_tree(store: Store) -> tuple[PackedObjects, set[str]]:
    """Every object, links among them, and every directory: in an object store one with objects, or a mark in a log.

    A directory of others that cannot be listed is unreachable. Raises StoreError for one of Spark.
    """
    if not store.is_local:
        objects = store.find()
        marked = (name for log in _LOGS for name in store.ls(log)[1])
        return objects, {*(name.rpartition("/")[0] for name in objects), *filter(store.can_name, marked)}
    objects, directories = PackedObjects(), [""]
    for directory in directories:  # which grows meanwhile
        try:
            found, below = store.ls(directory, into_links=False)
        except StoreError as error:
            if not _is_beside(error, directory):
                raise
            found, below = {f"{directory}/": StoredObject(f"{directory}/", 0, None, "", is_unreachable=True)}, []
        objects.add((found | unreachable(below, store.fs)).values())
        directories.extend(filter(store.can_name, below))
    return objects, set(directories)


def find_own(store: Store) -> tuple[PackedObjects, tuple[str, ...]]:
    """The objects of :func:`list_tree` without those of checkpoints inside; and names of these. Raises StoreError."""
    try:
        objects = store.find()
    except StoreError as error:
        if not store.is_local or not _is_beside(error, error.name or ""):
            raise
        objects = list_tree(store)[0]
    return without_inside(objects)


def find_at_top(store: Store, directories: Iterable[str]) -> tuple[str, ...]:
    """Find checkpoints of other queries among the top directories: at most three requests for each.

    A directory that cannot be listed is not counted. Raises StoreError for the top itself.
    """
    found = PackedObjects(store.ls()[0].values())
    for directory in directories:
        with suppress(StoreError):
            below = store.ls(directory)[1]
            for log in _LOGS:
                if f"{directory}/{log}" in below:
                    found.add(store.ls(f"{directory}/{log}")[0].values())
    return without_inside(found)[1]


def find_objects(store: Store) -> PackedObjects:
    """The objects of :func:`find_own` alone. Raises StoreError."""
    return find_own(store)[0]


def _is_beside(error: StoreError, directory: str) -> bool:
    """True if an error of a listing is about a directory that is not one of Spark's, and will come again."""
    return not error.retryable and directory.partition("/")[0] not in ("", *layout.TOP_DIRECTORIES)


def list_logs(store: Store, listing: DirectoryListing) -> DirectoryListing:
    """The same listing with what it lacks: the two logs, and whether there is state. Raises StoreError."""
    stateful = bool(count_operators(store)) if listing.stateful is None else listing.stateful
    if listing.logs_seen:
        return replace(listing, stateful=stateful)
    # What a running query writes first is listed last: a batch that has state or a commit then has its offsets, too.
    commits, commit_folders = store.ls(layout.COMMITS)
    offsets, offset_folders = store.ls(layout.OFFSETS)
    return replace(
        listing,
        objects={**listing.objects, **commits, **offsets},
        directories=listing.directories | {*commit_folders, *offset_folders},
        logs_seen=True,
        stateful=stateful,
    )


def count_operators(store: Store) -> int:
    """How many stateful operators have state in a checkpoint: one request. Raises StoreError."""
    return sum(layout.operator_of(directory) is not None for directory in store.ls(layout.STATE)[1])
