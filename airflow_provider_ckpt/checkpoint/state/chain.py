"""The chain of files that brings one state store to a version: a whole version, and every change after it.

As in :mod:`airflow_provider_ckpt.checkpoint.restart_set`, the functions do no IO: they yield the name of an object
whose bytes they need, and are sent the bytes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TypeVar

from airflow_provider_ckpt.codec import layout, state_file
from airflow_provider_ckpt.codec.layout import StateFile, StateStoreId
from airflow_provider_ckpt.errors import CheckpointFormatError
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.untrusted.spans import missing_names, missing_spans

Result = TypeVar("Result")
#: A computation that asks for the bytes of objects by name.
Reads = Generator[str, bytes, Result]

#: What is said where changelogs are left, and no zip; measured on 4.3: then Spark does not know the column families.
NO_SNAPSHOT = "missing (a store with column families cannot be restored from changelogs only)"


@dataclass(slots=True)
class Chain:
    """One state store's part of the set, or that of all."""

    names: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    single: list[int] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StateStore:
    """Listed files of one state store."""

    store_id: StateStoreId
    files: dict[StateFile, StoredObject]
    tables: dict[str, StoredObject]
    broken: Mapping[str, str] = field(default_factory=dict)
    families: bool = False  # has column families, which a zip names and no changelog

    def name(self, file: StateFile) -> str:
        """The name of a file in the checkpoint."""
        return f"{self.store_id.directory}/{state_file_name(file.version, file.unique_id, file.kind)}"


def state_file_name(version: int, unique_id: str | None, kind: str) -> str:
    """The base name of a state file."""
    return f"{version}_{unique_id}.{kind}" if unique_id else f"{version}.{kind}"


def chain_v1(store: StateStore, version: int, kinds: Collection[str]) -> Reads[Chain]:
    """Format 1: a whole version up to ``version`` and every change after it.

    Spark takes the newest whole version; where that is broken, 4.1 and later repair it from the one before it. Where a
    change after a whole version that can be read is broken, it stops.
    """
    whole: layout.StateFileKind = "snapshot" if set(kinds) & {"delta", "snapshot"} else "zip"
    change: layout.StateFileKind = "delta" if whole == "snapshot" else "changelog"
    bases = [file.version for file in store.files if file.kind == whole and file.version <= version]
    held = sorted((file.version, "") for file in store.files if file.kind == change and file.unique_id is None)
    has_changes = any(file.kind == change for file in store.files)
    tried: list[Chain] = []
    changes, upper = Chain(), version  # the changes after the whole version that is tried
    for base in [*sorted(bases, reverse=True), *([] if bases and store.families else [0])]:
        chain = Chain(repaired=tried[0].missing if tried else [])
        if base:
            yield from _add(chain, store, StateFile(store.store_id, base, None, whole))
        elif store.families:
            chain.missing.append(f"{store.name(StateFile(store.store_id, 1, None, whole))}: {NO_SNAPSHOT}")
        ends_here = bool(base and has_changes) and not chain.missing
        earlier = yield from _changes(store, base + 1, upper, held, change)
        changes.names[:0], changes.missing[:0] = earlier.names, earlier.missing
        upper = base
        chain.names += changes.names
        chain.missing += changes.missing
        if ends_here or not chain.missing:
            return chain
        tried = [*tried[:1], chain]
    return tried[-1] if has_changes else tried[0]


def _changes(
    store: StateStore, first: int, last: int, held: Sequence[tuple[int, str]], kind: layout.StateFileKind
) -> Reads[Chain]:
    """The changes of versions ``first`` to ``last`` (inclusive); ``held`` are versions and ids or "", ascending."""
    chain = Chain()
    start, end = bisect_left(held, first, key=itemgetter(0)), bisect_right(held, last, key=itemgetter(0))
    for version, unique_id in held[start:end]:
        yield from _add(chain, store, StateFile(store.store_id, version, unique_id or None, kind))
    no_id = "?" if any(unique_id for _, unique_id in held) else None
    for span in missing_spans((version for version, _ in held[start:end]), first, last):
        chain.missing += missing_names(
            span, lambda version: store.name(StateFile(store.store_id, version, no_id, kind))
        )
    return chain


def chain_v2(
    store: StateStore,
    version: int,
    unique_id: str,
    codec: str,
    decompressors: Mapping[str, state_file.Decompress],
    *,
    by_zip: bool = True,
) -> Reads[Chain]:
    """Format 2: the commit names the version, its changelog names the ones before it.

    Where the zip that they end in is broken, Spark goes on to the changelog of the same version.
    """
    chain = Chain()
    final = StateFile(store.store_id, version, unique_id, "zip")
    changelog = StateFile(store.store_id, version, unique_id, "changelog")
    if by_zip and final in store.files:
        yield from _add(chain, store, final)
        if not chain.missing or changelog not in store.files:
            return chain
        earlier = yield from chain_v2(store, version, unique_id, codec, decompressors, by_zip=False)
        return _repaired(chain, earlier)
    if changelog not in store.files:
        chain.missing.append(store.name(changelog))
        return chain
    name = store.name(changelog)
    data = yield name
    try:
        lineage = dict(state_file.read_lineage(data, codec, name, decompressors))
    except CheckpointFormatError as error:
        chain.missing.append(f"{name}: {error.message}")
        return chain
    lineage[version] = unique_id
    zips = {(file.version, file.unique_id) for file in store.files if file.kind == "zip"}
    usable = lineage.items() if by_zip else lineage.items() - {(version, unique_id)}
    base = max((step for step, step_id in usable if (step, step_id) in zips), default=0)
    if base:
        yield from _add(chain, store, StateFile(store.store_id, base, lineage[base], "zip"))
    elif store.families:
        first = min(lineage)
        chain.missing.append(f"{store.name(StateFile(store.store_id, first, lineage[first], 'zip'))}: {NO_SNAPSHOT}")
    if base and chain.missing:
        earlier = yield from chain_v2(store, base, lineage[base], codec, decompressors, by_zip=False)
        chain = _repaired(chain, earlier)
    changes = yield from _changes(store, base + 1, version, sorted(lineage.items()), "changelog")
    chain.names += changes.names
    chain.missing += changes.missing
    return chain


def _repaired(broken: Chain, earlier: Chain) -> Chain:
    """Older files in the place of a broken zip; Spark searches for that very zip first, so it belongs to them."""
    return Chain([*earlier.names, *broken.names], earlier.missing, [*earlier.repaired, *broken.missing])


def _add(chain: Chain, store: StateStore, file: StateFile) -> Reads[None]:
    name = store.name(file)
    stored = store.files.get(file)
    if stored is None:
        chain.missing.append(name)
    elif stored.size == 0 or name in store.broken:
        chain.missing.append(f"{name}: {store.broken.get(name, 'empty')}")
        chain.names.append(name)
    else:
        chain.names.append(name)
        if file.kind == "zip":
            _add_tables(chain, store, name, (yield name))


def _add_tables(chain: Chain, store: StateStore, name: str, data: bytes) -> None:
    try:
        tables = state_file.read_zip(data, name)
    except CheckpointFormatError as error:
        chain.missing.append(f"{name}: {error.message}")
        return
    for table in tables:
        table_name = f"{store.store_id.directory}/{table.name}"
        stored = store.tables.get(table_name)
        if stored is None:
            chain.missing.append(table_name)
            continue
        chain.names.append(table_name)
        if stored.size != table.size:  # Spark reads that first
            chain.missing.append(f"{table_name}: {stored.size} {state_file.OTHER_SIZE} {table.size}")
        elif table_name in store.broken:
            chain.missing.append(f"{table_name}: {store.broken[table_name]}")
