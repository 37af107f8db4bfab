"""Reading where one file that cannot be opened is told of, and does not end the reading of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from airflow_provider_ckpt.errors import CheckpointNotFoundError, StoreError, UnreadableError
from airflow_provider_ckpt.storage.store import Store

Result = TypeVar("Result")


class EachFile:
    """How the files of a store are read, each by itself: one that cannot be opened raises UnreadableError.

    It is no regular file, this user may not read it, or it is a link that leads nowhere. Any other error is that of
    the store.

    Args:
        store: The store that is read.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def read(self, name: str) -> bytes:
        """Read a file as :meth:`Store.read` does."""
        return self._told(self._store.read, name)

    def head(self, name: str) -> bytes:
        """Read the head of a file as :meth:`Store.head` does."""
        return self._told(self._store.head, name)

    def chunks(self, name: str) -> Iterator[bytes]:
        """Read a file piece by piece as :meth:`Store.chunks` does."""
        pieces = self._store.chunks(name)
        if (first := self._told(lambda _: next(pieces, None), name)) is not None:
            yield first
            yield from pieces

    def _told(self, read: Callable[[str], Result], name: str) -> Result:
        try:
            return read(name)
        except StoreError as error:
            if error.retryable or (isinstance(error, CheckpointNotFoundError) and not self._store.is_link(name)):
                raise
            why = "this is a link that leads nowhere" if isinstance(error, CheckpointNotFoundError) else error.message
            raise UnreadableError(why, location=error.location, name=name, hint=error.hint) from None
