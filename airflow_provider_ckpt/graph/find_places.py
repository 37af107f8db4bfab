"""Finding the tables and the output directories of file sinks below some roots, level by level."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet.find import NOT_ENTERED
from airflow_provider_ckpt.graph.place import Place
from airflow_provider_ckpt.graph.read_place import is_iceberg, read_place
from airflow_provider_ckpt.query.paths import Paths
from airflow_provider_ckpt.storage.concurrency import in_order
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.tables import delta

#: More directories than a scan looks into.
MOST_DIRECTORIES = 100_000
_NOT_ENTERED = NOT_ENTERED | {"metadata", "data"}


@dataclass(frozen=True, slots=True)
class _Seen:
    """A directory: what it is, where that is known, and the directories below it."""

    place: Place | None = None
    below: tuple[Store, ...] = ()
    problem: str = ""


def find_places(
    roots: Sequence[Store], query_ids: Collection[str], *, paths: Paths, depth: int, threads: int
) -> tuple[list[Place], list[str]]:
    """The places, and a sentence for each directory that could not be read.

    Args:
        roots: Where to search; a root may be a table itself.
        query_ids: The queries that may have written them.
        paths: How locations that tables name are opened.
        depth: How many levels below a root to search.
        threads: How many directories to read together.
    """
    places, problems = dict[str, Place](), list[str]()
    level, count = list(roots), 0
    with ThreadPoolExecutor(threads) as pool:
        for left in range(depth, -1, -1):
            below: list[Store] = []
            for seen in in_order(pool, partial(_look, query_ids=query_ids, paths=paths), level, window=2 * threads):
                problems += [seen.problem] if seen.problem else []
                below += seen.below
                if seen.place is not None:
                    places[seen.place.key] = seen.place
            count += len(below)
            if count > MOST_DIRECTORIES:
                problems.append(f"only the first {MOST_DIRECTORIES:,} directories were searched for tables")
                break
            level = below if left else []
    return list(places.values()), problems


def _look(store: Store, query_ids: Collection[str], paths: Paths) -> _Seen:
    try:
        objects, directories = store.ls()
        if not objects and not directories and not store.exists():
            return _Seen(problem=f"{store.location}: the location does not exist")
        kind = _kind(store, directories)
        if kind is not None:
            return _Seen(read_place(kind, store, query_ids, paths))
    except CheckpointError as error:
        return _Seen(problem=str(error))
    if {layout.OFFSETS, layout.COMMITS} & {*directories}:
        return _Seen()
    return _Seen(below=tuple(_below(store, directories)))


def _kind(store: Store, directories: Collection[str]) -> str | None:
    if delta.LOG in directories:
        return "delta"
    if layout.SINK_LOG in directories:
        return "file"
    return "iceberg" if "metadata" in directories and is_iceberg(store) else None


def _below(store: Store, directories: Sequence[str]) -> Iterator[Store]:
    for name in directories:
        is_hidden = name[0] in "._" or "=" in name
        if not is_hidden and name not in _NOT_ENTERED and store.can_name(name) and not store.is_link(name):
            yield store.child(name)
