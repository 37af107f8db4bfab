"""Reading a query file."""

from __future__ import annotations

from collections.abc import Callable

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.query.deploy import DeploySpec, parse_conf_file
from airflow_provider_ckpt.query.query_file import Query, QueryFile
from airflow_provider_ckpt.query.query_parser import parse_query_file
from airflow_provider_ckpt.query.yaml_text import MOST_YAML_CHARS
from airflow_provider_ckpt.storage.store import Store

#: A character has at most four bytes.
MOST_BYTES = 4 * MOST_YAML_CHARS


def read_query_file(place: str, opener: Callable[[str], Store] = Store.open) -> QueryFile:
    """The queries that a file declares.

    Args:
        place: The file: a path or a URL.
        opener: Opens its directory.

    Raises:
        StoreError: It cannot be read, or is too large.
        ValueError: It is no query file; the message names the file, the line and the key.
    """
    return parse_query_file(read_text(place, opener), place)


def read_deploy(query: Query, opener: Callable[[str], Store] = Store.open) -> DeploySpec:
    """What is declared of a query, with the confs of its ``confs_file``, over which its own confs win.

    Args:
        query: The query.
        opener: Opens the directory of the file.

    Raises:
        StoreError: The file cannot be read, or is too large.
        ValueError: It is no ``spark-defaults.conf``.
    """
    if query.confs_file is None:
        return query.deploy
    try:
        confs = parse_conf_file(read_text(query.confs_file, opener))
    except ValueError as error:
        raise ValueError(f"{query.confs_file}: {error}") from None
    return query.deploy.with_confs({**confs, **query.deploy.confs})


def read_text(place: str, opener: Callable[[str], Store]) -> str:
    """A file that people write.

    Args:
        place: The file: a path or a URL.
        opener: Opens its directory.

    Raises:
        StoreError: It cannot be read, or is too large.
        ValueError: It is no text in UTF-8.
    """
    directory, _, name = place.rpartition("/")
    store = opener(directory or ("/" if place.startswith("/") else "."))
    data = store.read_up_to(name, MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise StoreError("the file is too large", location=place)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{place} line {line} is not a text in UTF-8: {error.reason}") from None
