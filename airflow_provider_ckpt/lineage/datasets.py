"""Checkpoints, backups, sources and sinks as datasets, by OpenLineage's rules for names, with nothing secret."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.query.sink import Sink, parse_sink
from airflow_provider_ckpt.query.source import Source, parse_asked
from airflow_provider_ckpt.storage.local import local_path
from airflow_provider_ckpt.storage.schemes import storage_scheme
from airflow_provider_ckpt.untrusted.secrets import scrub

#: Storages whose names have no slash before the key; other names begin with one.
_OF_KEYS = frozenset({"s3", "gs", "abfss", "wasbs"})
#: Storages whose containers are written like a user: ``abfss://container@account/path``.
_OF_CONTAINERS = frozenset({"abfss", "wasbs"})
_HOST = re.compile(r"[\w.-]+(?::\d+)?\Z")

#: A location as it is written, to its absolute URL; None while that is not known.
Where = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Named:
    """A dataset.

    Args:
        namespace: Where it is, such as ``s3://lake``.
        name: Its name there, such as ``checkpoints/orders``.
        type: ``CHECKPOINT``, ``BACKUP``, ``TOPIC``, ``TABLE`` or ``FILE``.
        layer: Who has written it, such as ``delta``; empty where nobody needs to know.
        format: Format of its files, or empty.
        version: Batch, id of the backup, or empty.
        change: The change that a task has made to it, such as ``ALTER``; empty for nothing.
    """

    namespace: str
    name: str
    type: str
    layer: str = ""
    format: str = ""
    version: str = ""
    change: str = ""


def checkpoint(url: str, *, batch_id: int | None = None, change: str = "") -> Named:
    """A checkpoint; ``batch_id`` is its latest committed batch."""
    version = "" if batch_id is None else str(batch_id)
    return Named(*place(url), "CHECKPOINT", "spark-structured-streaming", "json", version, change)


def backup(url: str, *, backup_id: str = "", change: str = "") -> Named:
    """The root of backups, in the version of one of them."""
    return Named(*place(url), "BACKUP", "ckpt", "json", backup_id, change)


def place(url: str) -> tuple[str, str]:
    """Namespace and name of an absolute location, without user, password and signature."""
    path = local_path(url)
    if path is not None:
        return "file", path.rstrip("/") or "/"
    scheme, _, rest = scrub(url).rpartition("::")[2].partition("://")
    scheme = storage_scheme(scheme)
    rest = rest.partition("?")[0].rstrip("/")
    host, _, key = rest.partition("/")
    if scheme not in _OF_CONTAINERS:
        host = host.rpartition("@")[2]
    return f"{scheme}://{host}", key or "/" if scheme in _OF_KEYS else f"/{key}"


# --- what was declared of a query ------------------------------------------------------------------------------------


def declared_sources(sources: Any, where: Where) -> Iterator[Named]:
    """The sources that are known for certain: topics of named brokers, tables and directories.

    Args:
        sources: Declarations such as ``kafka:host:9092/orders``, by source id or in order; other types are ignored.
        where: Finds absolute locations.
    """
    given = sources.values() if isinstance(sources, dict) else sources if isinstance(sources, list | tuple) else ()
    for item in given:
        if isinstance(item, dict):  # by checkpoint
            yield from declared_sources(item, where)
        elif isinstance(item, str):
            yield from _source(item, where)


def _source(text: str, where: Where) -> Iterator[Named]:
    try:
        declared = parse_asked(text)
    except CheckpointError:
        return  # a mere type, such as rate
    if declared.type == "kafka":
        yield from _topics(declared)
    elif (url := where(declared.directory)) is not None:
        is_table = declared.type != "file"
        yield Named(*place(url), "TABLE" if is_table else "FILE", declared.type or "" if is_table else "")


def _topics(declared: Source) -> Iterator[Named]:
    server = declared.location.partition(",")[0].strip()
    if _HOST.match(server):
        for topic in declared.topics:
            yield Named(f"kafka://{server}", topic, "TOPIC", "kafka")


def declared_sinks(sinks: Any, where: Where, *, change: str = "") -> Iterator[Named]:
    """The sinks that have a location: directories and tables.

    Args:
        sinks: One declaration such as ``delta:s3://lake/orders``, or several; other types are ignored.
        where: Finds absolute locations.
        change: The change that the task has made to them.
    """
    for text in sinks if isinstance(sinks, list | tuple) else (sinks,):
        declared = _sink(text)
        if declared is None or (url := where(declared.directory or "")) is None:
            continue
        is_table = declared.kind != "file"
        yield Named(*place(url), "TABLE" if is_table else "FILE", declared.kind if is_table else "", change=change)


def _sink(text: Any) -> Sink | None:
    try:
        declared = parse_sink(text) if isinstance(text, str) and text else None
    except CheckpointError:
        return None
    return declared if declared and declared.directory else None
