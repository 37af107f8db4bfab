"""Finding every checkpoint below some roots: lazily, level by level below each root, then by name.

A directory that cannot be read, or that no location can name, is a row with its error and ends nothing. What is below
a checkpoint is searched as well. Below the directory of a declarative pipeline all levels are, whatever the depth.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tenacity import retry, retry_if_exception, stop_after_attempt, stop_after_delay, wait_exponential, wait_random

from airflow_provider_ckpt.checkpoint.flows import CHECKPOINTS, LEVELS, flow_of, newest_version
from airflow_provider_ckpt.checkpoint.listing import DirectoryListing, list_checkpoint
from airflow_provider_ckpt.checkpoint.own_files import DATA, DROPPED, INTENT, MANIFEST, PLAN, UNDO_DIRECTORY
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError
from airflow_provider_ckpt.fleet import DEPTH as DEPTH
from airflow_provider_ckpt.fleet import THREADS as THREADS
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.storage.concurrency import in_order
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import is_name

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.findings import NoCheckpointsFields

#: Locations that are named of each kind.
MOST_NAMED = 3


@dataclass(slots=True)
class Some:
    """Locations of one kind.

    Args:
        count: How many.
        first: The first of them.
    """

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, locations: Sequence[str]) -> None:
        """Remember some."""
        self.first += locations[: max(0, MOST_NAMED - len(self.first))]
        self.count += len(locations)

    @property
    def text(self) -> str:
        """The first of them, and how many more there are."""
        more = self.count - len(self.first)
        return ", ".join(self.first) + (f" and {more:,} more" if more else "")


@dataclass(slots=True)
class NoCheckpoints:
    """The directories and files below the roots, among which no checkpoint was found.

    Args:
        empty: Directories with nothing in them, of which one may have been a checkpoint that is lost.
        files: Files directly below a root, where a directory with a checkpoint may be expected.
    """

    empty: Some = field(default_factory=Some)
    files: Some = field(default_factory=Some)

    def to_dict(self) -> NoCheckpointsFields:
        """JSON-ready."""
        return {
            "empty_directories": self.empty.count,
            "files": self.files.count,
            "first": [*self.empty.first, *self.files.first],
        }

    def text(self) -> str:
        """The same in one line for people; empty when there is nothing of it."""
        kinds = (("empty directory", "empty directories", self.empty), ("file", "files", self.files))
        told = [
            f"{some.count:,} {one if some.count == 1 else many} ({some.text})"
            for one, many, some in kinds
            if some.count
        ]
        if not told:
            return ""
        alone = self.empty.count + self.files.count == 1
        verb = "is no checkpoint" if alone else "are no checkpoints"
        lost = (
            " If a query had its checkpoint there, it is lost: restore it (ckpt restore)." if self.empty.count else ""
        )
        return f"{' and '.join(told)} {verb}.{lost}"


#: Directories of Spark, of table formats and of this package that hold no checkpoints and may be vast.
NOT_ENTERED = frozenset(
    {layout.OFFSETS, layout.COMMITS, layout.SOURCES, layout.STATE, layout.SINK_LOG, UNDO_DIRECTORY}
    | {"_delta_log", "_change_data", "_symlink_format_manifest", "_temporary"}
)

#: What a table has beside its files.
_OF_TABLES = frozenset({"_delta_log", ".hoodie", layout.SINK_LOG})

#: Of these, what anybody may call a directory that has checkpoints in it.
_OF_SPARK = frozenset({layout.SOURCES, layout.STATE})

#: What this package itself keeps copies of checkpoints in: a file, and the directory beside it.
OUR_COPIES = ((MANIFEST, DATA), (INTENT, DATA), (DROPPED, DATA), (PLAN, "saved"))


@dataclass(frozen=True, slots=True)
class Found:
    """A checkpoint that is to be judged.

    Args:
        store: The directory of the checkpoint.
        listing: The listing that found it, so that it need not be taken again.
    """

    store: Store
    listing: DirectoryListing | None = None

    @property
    def location(self) -> str:
        """Its URI."""
        return self.store.location


@dataclass(frozen=True, slots=True)
class _Seen:
    """A directory that was listed, and how many levels below it are to be searched."""

    store: Store
    levels: int
    listing: DirectoryListing | FleetRow


def _is_retryable(error: BaseException) -> bool:
    return isinstance(error, CheckpointError) and error.retryable


#: A few times, but not for long: drivers have tried again themselves before they say that a storage is down.
patiently = retry(
    retry=retry_if_exception(_is_retryable),
    stop=stop_after_attempt(3) | stop_after_delay(5),
    wait=wait_exponential(multiplier=0.1, max=5) + wait_random(0, 0.1),
    reraise=True,
)


def find_checkpoints(
    roots: Sequence[Store],
    *,
    depth: int = DEPTH,
    threads: int = THREADS,
    known: Container[str] = (),
    unsearched: Some | None = None,
    others: NoCheckpoints | None = None,
    keep_going: bool = False,
) -> Iterator[Found | FleetRow]:
    """Find every checkpoint under some roots.

    Args:
        roots: Where to search; a root may be a checkpoint itself.
        depth: How many levels below a root to search.
        threads: How many directories to read together.
        known: Locations below the roots that are not read again, nor yielded.
        unsearched: Takes the directories that are deeper than that; what is below them is not counted.
        others: Takes what is there and is no checkpoint.
        keep_going: A root that cannot be listed is a row with an error as well, unless none of them can.

    Returns:
        A generator of checkpoints, and of rows with an error for directories that could not be listed.

    Raises:
        CheckpointNotFoundError: A root does not exist, with ``keep_going`` none of them.
        StoreError: A root cannot be listed, with ``keep_going`` none of them. Both are raised at once, before the first
            checkpoint is asked for.
    """
    level = [
        _Seen(root, depth, listing) for root, listing in zip(roots, _list_roots(roots, depth, keep_going), strict=True)
    ]
    return _walk(level, threads, known, unsearched or Some(), others or NoCheckpoints())


def _list_roots(roots: Sequence[Store], levels: int, keep_going: bool) -> list[DirectoryListing | FleetRow]:
    listed: list[DirectoryListing | FleetRow] = []
    first_error: CheckpointError | None = None
    for root in roots:
        try:
            listed.append(_list_root(root, levels))
        except CheckpointError as error:
            first_error = first_error or error
            if not keep_going:
                raise
            listed.append(FleetRow(root.location, error=str(error)))
    if first_error is not None and all(isinstance(item, FleetRow) for item in listed):
        raise first_error
    return listed


def _listed(store: Store, levels: int) -> DirectoryListing:
    """A directory; of a checkpoint below which is to be searched all the directories that are in it."""
    listing = list_checkpoint(store)
    if not listing.is_checkpoint or not levels or listing.is_whole:
        return listing
    return replace(listing, directories=listing.directories | {*store.ls()[1]})


@patiently
def _list_root(root: Store, levels: int) -> DirectoryListing:
    listing = _listed(root, levels)
    if not listing.objects and not listing.directories and not root.exists():
        raise CheckpointNotFoundError("the location does not exist.", location=root.location)
    return listing


def _walk(
    level: Iterable[_Seen],
    threads: int,
    known: Container[str],
    unsearched: Some,
    others: NoCheckpoints,
) -> Iterator[Found | FleetRow]:
    with ThreadPoolExecutor(threads) as pool:
        is_root = True
        while True:
            is_last = True
            below: list[tuple[Store, int, list[str]]] = []
            for seen in level:
                is_last = False
                if isinstance(seen.listing, FleetRow):
                    yield seen.listing
                    continue
                if seen.listing.is_checkpoint:
                    yield _found(seen.store, seen.listing)
                else:
                    yield from _dead_links(seen.store, seen.listing)
                    _pass_by(seen, others, is_root=is_root)
                names = []
                for name in _to_enter(seen.store, seen.listing):
                    if not seen.store.can_name(name):
                        yield _without_name(seen.store, name)
                    elif not _leads_up(seen.store, name):
                        names.append(name)
                if seen.levels and names:
                    below.append((seen.store, seen.levels, names))
                else:
                    unsearched.add([f"{seen.store.location}/{name}" for name in names])
            if is_last:
                return
            is_root = False
            children = (_Below(store, name, levels) for store, levels, names in below for name in names)
            unknown = (child for child in children if child.location not in known)
            level = in_order(pool, _seen, unknown, window=2 * threads)


@dataclass(frozen=True, slots=True)
class _Below:
    """A directory that is to be listed."""

    parent: Store
    name: str
    levels_of_parent: int

    @property
    def location(self) -> str:
        return f"{self.parent.location.rstrip('/')}/{self.name}"

    @property
    def levels(self) -> int:
        """How many levels below it are searched."""
        return max(self.levels_of_parent - 1, LEVELS if self.name == CHECKPOINTS else 0)


def _seen(below: _Below) -> _Seen:
    store = below.parent.child(below.name)
    try:
        listing = _list_patiently(store, below.levels)
    except CheckpointError as error:
        return _Seen(store, below.levels, FleetRow(store.location, error=str(error)))
    return _Seen(store, below.levels, listing)


def _leads_up(store: Store, name: str) -> bool:
    """True if a name is a link on a disk to a directory that it is in, which is searched already."""
    return store.is_link(name) and store.is_within(store.child(name))


def _dead_links(store: Store, listing: DirectoryListing) -> Iterator[FleetRow]:
    """A row for each link that leads to nothing: what was there is not there, or not reachable."""
    for name, stored in sorted(listing.objects.items()):
        if stored.is_link and not stored.identity:
            yield FleetRow(
                f"{store.location}/{name}", error="this is a link that leads to nothing, so nothing was checked"
            )


def _pass_by(seen: _Seen, others: NoCheckpoints, *, is_root: bool) -> None:
    """Remember a directory that is empty, and the files directly below a root that is no table and no copy of ours."""
    store, listing = seen.store, seen.listing
    if isinstance(listing, FleetRow):
        return
    if not listing.objects and not listing.directories:
        others.empty.add([store.location])
    if is_root and not listing.directories & _OF_TABLES and not _is_our_copy(listing):
        names = (name for name, stored in listing.objects.items() if not (stored.is_link or stored.is_unreachable))
        others.files.add([f"{store.location.rstrip('/')}/{name}" for name in sorted(names) if name[0] not in "._"])


def _without_name(store: Store, name: str) -> FleetRow:
    """The row of a directory that no location can name."""
    return FleetRow(
        f"{store.location}/{name}/",
        error=f"the storage has a directory {name!r} here, which no location can name; what is in it was not checked",
    )


def _found(store: Store, listing: DirectoryListing) -> Found | FleetRow:
    """A checkpoint; a row when a later version beside it has replaced it."""
    flow = flow_of(store.location)
    if flow is None:
        return Found(store, listing)
    try:
        newest = newest_version(store.at(flow.directory).ls()[1])
    except CheckpointError:  # not known to be replaced
        newest = None
    if newest is None or int(newest) <= flow.version:
        return Found(store, listing)
    return FleetRow(store.location, replaced_by=f"{flow.directory}/{newest}")


def _is_our_copy(listing: DirectoryListing) -> bool:
    return any(file in listing.objects and directory in listing.directories for file, directory in OUR_COPIES)


def _to_enter(store: Store, listing: DirectoryListing) -> list[str]:
    if _is_our_copy(listing):
        return []
    left_out = NOT_ENTERED if listing.is_checkpoint else NOT_ENTERED - _OF_SPARK
    names = {name for name in listing.directories if name.partition("/")[0] not in left_out}
    if store.location.rpartition("/")[2] in _OF_SPARK:  # it may be what is left of a checkpoint
        names = {name for name in names if not name.isdecimal()}
    return sorted(name for name in names if not name.startswith(".") or not is_name(name))


_list_patiently = patiently(_listed)
