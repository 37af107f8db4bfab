"""The bookmarks of a deploy of many queries: one file of each in a directory, as ``ckpt gate --bookmark`` writes it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError
from airflow_provider_ckpt.fleet import THREADS
from airflow_provider_ckpt.fleet.bookmarks import KeptBookmark, Matched, match_bookmarks, sentence_of
from airflow_provider_ckpt.storage.concurrency import in_parallel
from airflow_provider_ckpt.storage.drivers import service
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.limits import BOOKMARK_BYTES, size_text


def read_bookmarks(directory: Store) -> list[KeptBookmark]:
    """Read every file of a directory: a bookmark, or why it is not one. Hidden files are not read.

    A directory in it is none either: bookmarks in there would be left out without a word.

    Raises:
        CheckpointNotFoundError: There is no file at all.
        StoreError: The directory cannot be listed.
        StoreUnavailableError: The storage does not answer.
    """
    files, directories = directory.ls()
    names = sorted(name for name in files if not name.startswith("."))
    if not names:
        raise CheckpointNotFoundError(
            "there is no bookmark here.",
            location=directory.location,
            hint="Give the directory with the files of ckpt gate --bookmark, one of each query.",
        )
    read = in_parallel(lambda name: _read(directory, name), names, THREADS)
    inside = [
        KeptBookmark(f"{directory.location}/{name}", None, "A directory is no bookmark. Give one of files alone.")
        for name in directories
        if not name.startswith(".")
    ]
    return [*read, *inside]


def match_queries(
    kept: Sequence[KeptBookmark], asked: Sequence[str | Mapping[str, Any]] | None, open_store: Callable[[str], Store]
) -> Matched:
    """Find the one bookmark of each query, however the locations of their checkpoints are spelled.

    Args:
        kept: Results of :func:`read_bookmarks`, or what gates have left in a DAG.
        asked: See :func:`~airflow_provider_ckpt.fleet.bookmarks.match_bookmarks`.
        open_store: Opens a location.

    Raises:
        CheckpointError: The request makes no sense.
    """

    def place_of(location: str) -> Hashable:
        store = open_store(location)
        return store.is_local, service(store.fs), store.real_root

    return match_bookmarks(kept, asked, place_of)


def _read(directory: Store, name: str) -> KeptBookmark:
    origin = f"{directory.location}/{name}"
    try:
        data = directory.read_up_to(name, BOOKMARK_BYTES + 1)
    except CheckpointError as error:
        if error.retryable:
            raise
        return KeptBookmark(origin, None, sentence_of(error))
    if len(data) > BOOKMARK_BYTES:
        return KeptBookmark(origin, None, f"It is larger than {size_text(BOOKMARK_BYTES)}, and so no bookmark.")
    try:
        return KeptBookmark.of(origin, data.decode())
    except UnicodeDecodeError:
        return KeptBookmark(origin, None, "It is not text in UTF-8, and so no bookmark.")
