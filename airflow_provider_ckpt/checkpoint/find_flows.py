"""Finding what is beside the checkpoint of a flow of a declarative pipeline: its versions, other flows, its table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from urllib.parse import unquote

from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.flows import (
    CHECKPOINTS,
    Flow,
    Neighbour,
    Surroundings,
    flow_of,
    may_be_flow,
    newest_version,
)
from airflow_provider_ckpt.checkpoint.view import batch_ids
from airflow_provider_ckpt.codec import layout, source_log
from airflow_provider_ckpt.codec.source_log import FileSourceLog
from airflow_provider_ckpt.errors import CheckpointError, PlanError
from airflow_provider_ckpt.storage.store import Store

#: Flows whose source logs are read to find where a table is.
_MOST_READERS = 50
#: What a Spark without another conf keeps its tables in, beside the storage of a pipeline that it was started in.
_WAREHOUSE = "spark-warehouse"
_DELTA_LOG = "_delta_log"


def at_running_version(store: Store) -> Store:
    """The newest version of a flow whose directory was given; any other location is returned as it is.

    Raises StoreError when the directory cannot be listed.
    """
    if not may_be_flow(store.location) or flow_of(store.location) is not None:
        return store
    objects, directories = store.ls()
    newest = newest_version(directories)
    is_checkpoint = layout.METADATA in objects or {layout.OFFSETS, layout.COMMITS} & {*directories}
    if newest is None or is_checkpoint or flow_of(f"{store.location}/{newest}") is None:
        return store
    return store.child(newest)


def with_version(store: Store) -> Store:
    """The first version of a flow that has none yet, where its directory was given; any other location as it is."""
    version = f"{store.location}/0"
    is_new = flow_of(store.location) is None and flow_of(version) is not None and not any(store.ls())
    return store.at(version) if is_new else store


def refuse_replaced(store: Store) -> None:
    """Raise PlanError for a version of a flow that a full refresh has replaced. Raises StoreError."""
    flow = flow_of(store.location)
    if flow is None:
        return
    newest = _newest(store, flow)
    if newest is not None and newest > flow.version:
        raise PlanError(
            f"this is version {flow.version} of {flow.called}, which version {newest} has replaced at a full refresh: "
            "Spark does not run it, and what it wrote to may be of the later version now.",
            location=store.location,
            hint=f"Nothing was done. The version that runs is {flow.directory}/{newest}.",
        )


def find_surroundings(store: Store, *, table: bool) -> Surroundings | None:
    """Find the table and the other flows beside the checkpoint of a flow; None for any other checkpoint. Raises
    StoreError.

    Args:
        store: The checkpoint, which need not be there yet.
        table: Search also for the table, when several flows write it, or the flow has not run: where its readers in
            the pipeline found files, and where Spark puts tables.
    """
    flow = flow_of(store.location)
    if flow is None:
        return None
    target = store.at(flow.target)
    found = Surroundings(flow, max(flow.version, _newest(store, flow) or 0), tuple(_neighbours(target, flow)))
    is_new = not any(store.ls())
    if not table or not (found.neighbours or is_new):
        return found
    for directory in dict.fromkeys((*_read_by_flows(store, flow), *_default_places(flow))):
        with suppress(CheckpointError):
            place = store.at(directory)
            objects, directories = place.ls(layout.SINK_LOG)
            if objects:
                return replace(found, log=SinkLog(place.location, objects, tuple(sorted(directories))))
            if place.ls(_DELTA_LOG)[0]:
                return replace(found, is_delta=True)
    return found


def _newest(store: Store, flow: Flow) -> int | None:
    newest = newest_version(store.at(flow.directory).ls()[1])
    return None if newest is None else int(newest)


def _neighbours(target: Store, flow: Flow) -> Iterator[Neighbour]:
    for name in sorted(target.ls()[1]):
        if name == flow.name or name.startswith(("_", ".")) or not target.can_name(name):
            continue
        newest = newest_version(target.child(name).ls()[1])
        if newest is not None:
            checkpoint = target.child(name).child(newest)
            committed = batch_ids(checkpoint.ls(layout.COMMITS)[0], layout.COMMITS)
            yield Neighbour(name, checkpoint.location, max(committed, default=None))


def _default_places(flow: Flow) -> Iterator[str]:
    if len(flow.parts) < 2:
        return
    beside = flow.storage.rpartition("/")[0]
    *_, database, table = (unquote(part).lower() for part in flow.parts)  # as Hive's catalog writes them
    yield f"{beside}/{_WAREHOUSE}/{table}" if database == "default" else f"{beside}/{_WAREHOUSE}/{database}.db/{table}"


def _read_by_flows(store: Store, flow: Flow) -> Iterator[str]:
    """Directories with the name of a table from which flows of the pipeline have read files."""
    table = re.compile(rf"(.*/{re.escape(unquote(flow.parts[-1]))})/", re.IGNORECASE)  # Hive's catalog writes it so
    for reader in _flows_below(store.at(f"{flow.storage}/{CHECKPOINTS}"), 4, _MOST_READERS):
        for name in _source_entries(reader):
            with suppress(CheckpointError):
                log = source_log.decode(reader.read(name), name)
                paths = [entry.path for entry in log.entries] if isinstance(log, FileSourceLog) else []
                yield from {found[1] for path in paths if (found := table.match(path)) is not None}


def _source_entries(reader: Store) -> Iterator[str]:
    """The newest log entry of each source of a checkpoint."""
    for source in reader.ls(layout.SOURCES)[1]:
        names = reader.ls(source)[0]
        places = {name: place for name in names if isinstance(place := layout.parse(name), layout.SourceLogEntry)}
        if places:
            yield max(places, key=lambda name: places[name].entry_id)


def _flows_below(store: Store, levels: int, most: int) -> Iterator[Store]:
    """The versions that run of flows below the directory of a pipeline, a few of them."""
    level = [store]
    for _ in range(levels + 1):
        below: list[Store] = []
        for directory in level:
            names = directory.ls()[1]
            newest = newest_version(names)
            if newest is not None:
                yield directory.child(newest)
                most -= 1
            elif layout.OFFSETS not in names:
                below += [directory.child(name) for name in sorted(names) if directory.can_name(name)]
            if not most:
                return
        level = below
