"""Reading a query file."""

from __future__ import annotations

from collections.abc import Callable

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.query.query_file import QueryFile
from airflow_provider_ckpt.query.query_parser import parse_query_file
from airflow_provider_ckpt.query.yaml_text import MOST_YAML_CHARS
from airflow_provider_ckpt.storage.store import Store


def read_query_file(place: str, opener: Callable[[str], Store] = Store.open) -> QueryFile:
    """The queries that a file declares.

    Args:
        place: The file: a path or a URL.
        opener: Opens its directory.

    Raises:
        StoreError: It cannot be read, or is too large.
        ValueError: It is no query file; the message names the file, the line and the key.
    """
    directory, _, name = place.rpartition("/")
    store = opener(directory or ("/" if place.startswith("/") else "."))
    data = store.read(name)
    if len(data) > MOST_YAML_CHARS * 4:
        raise StoreError("the query file is too large", location=place)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{place}: it is not a text in UTF-8: {error.reason} at byte {error.start:,}") from None
    return parse_query_file(text, place)
