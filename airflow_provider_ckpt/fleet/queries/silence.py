"""Storages that do not answer: who has asked one of them twice in vain need not ask for each query that is there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from airflow_provider_ckpt.errors import CheckpointError, StoreUnavailableError

#: So often a storage has not answered, and never has, before it is not asked any more.
MOST_IN_VAIN = 2


def storage_of(location: str) -> str | None:
    """The storage that a location is in, such as ``s3://lake``; None for a path of this machine."""
    parts = urlsplit(location)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else None


class Silence:
    """What is known of storages in one round of questions."""

    def __init__(self) -> None:
        self._in_vain: dict[str, int] = {}
        self._answered: set[str] = set()

    @contextmanager
    def asking(self, location: str | None) -> Iterator[None]:
        """Ask in this block for what is at a location. Raises StoreUnavailableError for a storage that is silent."""
        storage = None if location is None else storage_of(location)
        if storage is not None and storage not in self._answered and self._in_vain.get(storage, 0) >= MOST_IN_VAIN:
            raise StoreUnavailableError(f"{storage} has not answered for others, so it was not asked for this one")
        try:
            yield
        except StoreUnavailableError:
            self.was_in_vain(location)
            raise
        except CheckpointError:
            self._has_answered(storage)
            raise
        self._has_answered(storage)

    def was_in_vain(self, location: str | None) -> None:
        """Remember that a storage did not answer."""
        storage = None if location is None else storage_of(location)
        if storage is not None:
            self._in_vain[storage] = self._in_vain.get(storage, 0) + 1

    def _has_answered(self, storage: str | None) -> None:
        if storage is not None:
            self._answered.add(storage)
