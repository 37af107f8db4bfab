"""The query file of Airflow: the option ``file`` of the section ``[ckpt]``, and queries for the DAGs made of it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import conf

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook, airflow_errors
from airflow_provider_ckpt.storage.local import local_path
from airflow_provider_ckpt.storage.store import Store

if TYPE_CHECKING:
    from airflow_provider_ckpt.query.query_file import Query, QueryFile

SECTION, OPTION = "ckpt", "file"
#: The files that this process has read: their content, by place, and what they were when it was read.
_READ: dict[tuple[str, str | None], tuple[object, QueryFile]] = {}
#: A process reads few of them.
_MOST_READ = 20


def with_connection(text: str) -> tuple[str, str | None]:
    """A place and the connection that is said behind it, as ``s3://lake/ckpt.yaml conn=lake`` has it."""
    found = re.fullmatch(r"(.*?)(?:\s+conn=(\S+))?", text.strip(), re.DOTALL)
    assert found is not None  # both parts may be empty
    return found[1], found[2]


def configured_file() -> str | None:
    """The option ``file`` of the section ``[ckpt]``; None when it says nothing."""
    return (conf.get(SECTION, OPTION, fallback="") or "").strip() or None


def queries(place: str | None = None) -> list[Query]:
    """The queries of a query file, in its order, then the flows of its pipelines; for DAGs, when they are parsed.

    A file is read once by a process, and again when it has changed; the storage of a pipeline is listed each time. The
    ``pipeline`` of a flow is the name of its pipeline.

    :param place: The file: a path or a URL, with ``conn=ID`` behind it; by default the option ``file`` of ``[ckpt]``.
    """
    with airflow_errors():
        return list(with_flows(read_file(place)).queries.values())


def with_flows(
    file: QueryFile, words: Sequence[str] | None = None, opened: Callable[[str], Store] | None = None
) -> QueryFile:
    """The query file with the flows of its pipelines.

    Args:
        file: The query file.
        words: Names and locations that these pipelines are of; None is all pipelines.
        opened: Opens a location; by default with the connection and the options that the file names.

    Raises:
        CheckpointError: A specification is none, or it or a storage cannot be read.
    """
    if not file.pipelines:
        return file
    from airflow_provider_ckpt.fleet.read_pipeline import with_pipelines  # what no file without one needs

    try:
        return with_pipelines(file, words, opened or CheckpointHook(file.storage.conn_id, file.storage.options).store)
    except ValueError as error:
        raise CheckpointError(str(error)) from None


def as_opened(value: Any, place: str | None = None) -> Any:
    """An argument or a param with its locations as ckpt opens them (``paths`` of the file); as it is without a file.

    Raises as :func:`read_file`.
    """
    known = place or configured_file()
    return value if not known else read_file(known).paths.opened_all(value)


def read_file(place: str | None = None, opened: Callable[[str, str | None], Store] | None = None) -> QueryFile:
    """The query file, read once by a process, and again when it has changed.

    Args:
        place: The file: a path or a URL, with ``conn=ID`` behind it; by default the option ``file`` of ``[ckpt]``.
        opened: Opens a location with a connection; by default as a task does.

    Raises:
        CheckpointError: No file is known, or it is no query file; the message names the file, the line and the key.
        StoreError: It cannot be read, or is too large.
    """
    from airflow_provider_ckpt.fleet.read_query_file import read_query_file  # what no task without a file needs

    text = place or configured_file()
    if not text:
        raise CheckpointError(
            "no query file is known",
            hint="Set the option file of the section [ckpt] of Airflow's configuration, or give query_file.",
        )
    location, conn_id = with_connection(text)
    location = _absolute(location)
    open_with = opened or _opened

    def opener(directory: str) -> Store:
        return open_with(directory, conn_id)

    seen = _identity(location, opener)
    kept = _READ.get((location, conn_id))
    if kept is not None and seen is not None and kept[0] == seen:
        return kept[1]
    try:
        file = read_query_file(location, opener)
    except ValueError as error:
        raise CheckpointError(str(error)) from None
    if len(_READ) >= _MOST_READ:
        _READ.clear()
    _READ[location, conn_id] = (seen, file)
    return file


def _opened(location: str, conn_id: str | None) -> Store:
    try:
        return CheckpointHook(conn_id).store(location)
    except CheckpointError as error:
        raise error.at(location) from None


def _absolute(location: str) -> str:
    return location if "://" in location else os.path.normpath(Path.cwd() / Path(location).expanduser())


def _identity(location: str, opener: Callable[[str], Store]) -> object:
    """What changes with the content of the file; None where that cannot be told, and then it is read."""
    path = local_path(location)
    try:
        if path is not None:
            found = Path(path).stat()
            return found.st_mtime_ns, found.st_size, found.st_ino
        directory, _, name = location.rpartition("/")
        stored = opener(directory).stat(name)
    except (OSError, CheckpointError):
        return None
    return None if stored is None else stored.identity
