"""Finding every checkpoint below some roots: lazily, level by level below each root, then by name.

A directory that cannot be read is a row with its error and ends nothing.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tenacity import retry, retry_if_exception, stop_after_attempt, stop_after_delay, wait_exponential, wait_random

from airflow_provider_ckpt.checkpoint.listing import DirectoryListing, list_checkpoint
from airflow_provider_ckpt.checkpoint.own_files import DATA, DROPPED, INTENT, MANIFEST, PLAN, UNDO_DIRECTORY
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.storage.concurrency import in_order
from airflow_provider_ckpt.storage.store import Store

#: How many levels below a root a checkpoint is searched for.
DEPTH = 5
THREADS = 8

#: Directories of Spark, of table formats and of this package that hold no checkpoints and may be vast.
NOT_ENTERED = frozenset(
    {layout.OFFSETS, layout.COMMITS, layout.SOURCES, layout.STATE, layout.SINK_LOG, UNDO_DIRECTORY}
    | {"_delta_log", "_change_data", "_symlink_format_manifest", "_temporary"}
)

#: What a Spark Declarative Pipeline keeps its checkpoints in: <table>/<flow>/<version>.
PIPELINE_CHECKPOINTS = "_checkpoints"

#: What this package itself keeps copies of checkpoints in: a file, and the directory beside it.
OUR_COPIES = ((MANIFEST, DATA), (INTENT, DATA), (DROPPED, DATA), (PLAN, "saved"))


@dataclass(frozen=True, slots=True)
class Found:
    """A checkpoint that is to be judged.

    Args:
        store: Where it is.
        listing: The listing that found it, so that it need not be taken again.
    """

    store: Store
    listing: DirectoryListing | None = None

    @property
    def location(self) -> str:
        """Its URI."""
        return self.store.location


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
    roots: Sequence[Store], *, depth: int = DEPTH, threads: int = THREADS, known: Container[str] = ()
) -> Iterator[Found | FleetRow]:
    """Find every checkpoint under some roots.

    Args:
        roots: Where to search; a root may be a checkpoint itself.
        depth: How many levels below a root to search.
        threads: How many directories to read together.
        known: Locations below the roots that are not read again, nor yielded.

    Returns:
        A generator of checkpoints, and of rows with an error for directories that could not be listed.

    Raises:
        CheckpointNotFoundError: A root does not exist.
        StoreError: A root cannot be listed. Both are raised at once, before the first checkpoint is asked for.
    """
    level: list[tuple[Store, DirectoryListing | FleetRow]] = [(root, _list_root(root)) for root in roots]
    return _walk(level, depth, threads, known)


@patiently
def _list_root(root: Store) -> DirectoryListing:
    listing = list_checkpoint(root)
    if not listing.objects and not listing.directories and not root.exists():
        raise CheckpointNotFoundError("the location does not exist.", location=root.location)
    return listing


def _walk(
    seen: Iterable[tuple[Store, DirectoryListing | FleetRow]], depth: int, threads: int, known: Container[str]
) -> Iterator[Found | FleetRow]:
    with ThreadPoolExecutor(threads) as pool:
        for levels_left in range(depth, -1, -1):
            deepest = True
            below: list[tuple[Store, list[str]]] = []
            for store, listing in seen:
                deepest = False
                if isinstance(listing, FleetRow):
                    yield listing
                elif listing.is_checkpoint:
                    yield _found(store, listing)
                elif levels_left:
                    below.append((store, _to_enter(listing)))
            if deepest:
                return
            children = (store.child(name) for store, names in below for name in names)
            unknown = (child for child in children if child.location not in known)
            seen = in_order(pool, _listing_or_row, unknown, window=2 * threads)


def _found(store: Store, listing: DirectoryListing) -> Found | FleetRow:
    """A checkpoint; a row when a later version beside it has replaced it."""
    parent, _, name = store.location.rpartition("/")
    if not _is_flow(parent) or not name.isdecimal():
        return Found(store, listing)
    try:
        newest = _newest_version(store.at(parent).ls()[1])
    except CheckpointError:  # not known to be replaced
        newest = name
    return Found(store, listing) if name == newest else FleetRow(store.location, replaced_by=f"{parent}/{newest}")


def _is_flow(location: str) -> bool:
    """Whether a location is the directory of a flow of a Spark Declarative Pipeline, which holds its versions."""
    parts = location.split("/")
    return len(parts) > 3 and parts[-3] == PIPELINE_CHECKPOINTS


def _newest_version(names: Iterable[str]) -> str | None:
    """Each full refresh begins a version; the highest number is the one that runs."""
    return max((name for name in names if name.isascii() and name.isdecimal()), key=int, default=None)


def _to_enter(listing: DirectoryListing) -> list[str]:
    if any(file in listing.objects and directory in listing.directories for file, directory in OUR_COPIES):
        return []
    return sorted(name for name in listing.directories - NOT_ENTERED if not name.startswith("."))


_list_patiently = patiently(list_checkpoint)


def _listing_or_row(store: Store) -> tuple[Store, DirectoryListing | FleetRow]:
    try:
        return store, _list_patiently(store)
    except CheckpointError as error:
        return store, FleetRow(store.location, error=str(error))
