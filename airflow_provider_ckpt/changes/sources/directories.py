"""Files that the sources keep below ``sources/``, moved to the directories of the sources that continue them.

A file source keeps the log of its files there, Kafka, Iceberg and the rate source where they began, Auto Loader a
database: everything is moved as it is, checksum files included. Files of a source that nobody continues go, because the
next source of that name would take them for its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from airflow_provider_ckpt.change.plan.actions import Copy, Delete
from airflow_provider_ckpt.changes.sources.source_change import SourceChange
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.layout import main_name
from airflow_provider_ckpt.storage.stored_object import StoredObject

#: Of an object: its bytes, and their SHA-256 (hex).
Sum = tuple[int, str]


def wanted(objects: Mapping[str, StoredObject], change: SourceChange) -> dict[str, str]:
    """Contents of the directories of the next query's sources: by name, the object that it is now."""
    found: dict[str, str] = {}
    for new, old in change.continued:
        if old is None:
            continue
        for name in _below(objects, old):
            found[_directory(new) + name.removeprefix(_directory(old))] = name
    return found


def to_sum(objects: Mapping[str, StoredObject], change: SourceChange) -> Iterator[str]:
    """The objects whose SHA-256 is asked for: those that come to another place, and those that are in their way."""
    asked: dict[str, None] = {}
    for name, origin in wanted(objects, change).items():
        if name != origin:
            asked[origin] = None
            there = objects.get(name)
            if there is not None and there.size == objects[origin].size:
                asked[name] = None
    yield from asked


def moves(
    objects: Mapping[str, StoredObject], change: SourceChange, sums: Mapping[str, Sum]
) -> tuple[list[Delete], list[Copy]]:
    """The steps: what goes first, and what comes in its place.

    Args:
        objects: The listing of the checkpoint.
        change: The source that each new source continues.
        sums: Checksums of each object of :func:`to_sum`.
    """
    coming = wanted(objects, change)
    stays = {name for name, origin in coming.items() if _is_there(name, origin, objects, sums)}
    concerned = {source_id for pair in change.continued for source_id in pair if source_id} | {*change.dropped}
    going = [name for source_id in concerned for name in _below(objects, source_id) if name not in stays]
    comes = sorted(coming.keys() - stays, key=_in_order)
    return (
        [Delete(name, size=objects[name].size, identity=objects[name].identity) for name in _backwards(going)],
        [Copy(name, size=sums[coming[name]][0], sha256=sums[coming[name]][1], source=coming[name]) for name in comes],
    )


def in_the_way(objects: Mapping[str, StoredObject], folders: Iterable[str], change: SourceChange) -> str | None:
    """A file where a source needs a directory, or a directory where one of its files comes; None where there is none.

    ``folders`` are directories in the place of files.
    """
    news = [new for new, _ in change.continued]
    files = (f"{layout.SOURCES}/{new}" for new in news)
    places = tuple(_directory(new) for new in news)
    found = [name for name in files if name in objects] + [name for name in folders if name.startswith(places)]
    return found[0] if found else None


def leftovers(objects: Mapping[str, StoredObject], known: frozenset[str]) -> dict[str, int]:
    """Directories below ``sources/`` that belong to no source of the checkpoint, with the number of their files."""
    counts: dict[str, int] = {}
    for name in objects:
        parts = name.split("/")
        if parts[0] == layout.SOURCES and len(parts) > 2 and parts[1] not in known:
            counts[parts[1]] = counts.get(parts[1], 0) + 1
    return dict(sorted(counts.items()))


def _is_there(name: str, origin: str, objects: Mapping[str, StoredObject], sums: Mapping[str, Sum]) -> bool:
    return name == origin or (name in objects and name in sums and sums[name] == sums[origin])


def _below(objects: Mapping[str, StoredObject], source_id: str) -> Iterator[str]:
    """Files of a source, without the rest of a killed write, which nobody reads."""
    directory = _directory(source_id)
    return (
        name for name in objects if name.startswith(directory) and not isinstance(layout.parse(name), layout.Temporary)
    )


def _directory(source_id: str) -> str:
    return f"{layout.SOURCES}/{source_id}/"


def _in_order(name: str) -> tuple[str, bool, int, str, bool]:
    """The order in which files come: so that the log of a file source never has a hole, at which Spark 3.5 stops first.

    A compacted entry holds all that come before it. Checksum files come before their object.
    """
    main = main_name(name)
    match layout.parse(main):
        case layout.SourceLogEntry(source_id, entry_id, compact):
            return f"{layout.SOURCES}/{source_id}", not compact, entry_id, main, name == main
    return main, True, 0, main, name == main


def _backwards(names: list[str]) -> list[str]:
    """The order in which files go: the other way round, but for checksum files, which go before their object."""
    units: dict[str, list[str]] = {}
    for name in sorted(names, key=_in_order):
        units.setdefault(main_name(name), []).append(name)
    return [name for unit in reversed(units.values()) for name in unit]
