"""A Delta table: the commits of its log, read line by line, and the table as deltalake has it.

deltalake answers what is in a checkpoint of the log as well (the id of the table, the newest ``txn`` of a writer). What
one commit did is in the commit alone, and is read here; how far back the commits go is up to the cleanup of the log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from airflow_provider_ckpt.errors import CheckpointNotFoundError, StoreError
from airflow_provider_ckpt.storage.held import require_held
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.untrusted.limits import DELTA_LOG_BYTES
from airflow_provider_ckpt.untrusted.lines import lines_in

LOG = "_delta_log"
_COMMIT = re.compile(rf"{LOG}/(\d{{20}})\.json")
#: Of one file, of several (which one, and of how many), or of version 2, with an id of its own.
_CHECKPOINT = re.compile(
    rf"{LOG}/(\d{{20}})\.checkpoint(?:\.(\d{{10}})\.(\d{{10}})|\.[0-9a-f-]{{36}})?\.(?:parquet|json)"
)
#: Commits that a catalog may still confirm.
_STAGED = ("_staged_commits", "_commits")
_ACTION = re.compile(rb'\s*\{\s*"([A-Za-z]+)"')

#: What the S3 options of fsspec are called in deltalake.
_S3_OPTIONS = {
    "key": "AWS_ACCESS_KEY_ID",
    "secret": "AWS_SECRET_ACCESS_KEY",
    "token": "AWS_SESSION_TOKEN",
    "endpoint_url": "AWS_ENDPOINT_URL",
    "region_name": "AWS_REGION",
}

Told = TypeVar("Told")
#: The kind of an action (``commitInfo``, ``txn``, ``add``, …) and its line of JSON.
Action = tuple[str, bytes]


class DeltaLog:
    """The log of a table.

    Args:
        store: The table.

    Attributes:
        commits: The commits that are there, by version.

    Raises:
        StoreError: It is no Delta table.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        objects, self._directories = store.ls(LOG)
        self.commits: Mapping[int, StoredObject] = {
            int(match[1]): stored for name, stored in objects.items() if (match := _COMMIT.fullmatch(name))
        }
        self._parts = [match.groups() for name in objects if (match := _CHECKPOINT.fullmatch(name))]
        if not self.commits:
            raise StoreError("is not a Delta table: it has no commits in _delta_log", location=store.location)
        self._left = DELTA_LOG_BYTES

    @property
    def newest(self) -> int:
        """The newest version that has a commit."""
        return max(self.commits)

    @property
    def is_read_out(self) -> bool:
        """True if the limit on how much of the log is read was reached."""
        return self._left <= 0

    def can_rebuild(self, version: int) -> bool:
        """True if the log still has the table's content at a version: a checkpoint, and every commit after it."""
        bases = [-1, *(at for at in self._checkpoints() if at <= version)]
        return version <= self.newest and all(later in self.commits for later in range(max(bases) + 1, version + 1))

    def _checkpoints(self) -> Iterator[int]:
        """The versions that have a checkpoint with all its parts."""
        found: dict[tuple[str, str | None], int] = {}
        for version, _, parts in self._parts:
            found[version, parts] = found.get((version, parts), 0) + 1
        return (int(version) for (version, parts), count in found.items() if count >= int(parts or 1))

    def require_no_staged(self) -> None:
        """Raise StoreError for a commit after the newest one that only a catalog can confirm."""
        for staged in _STAGED:
            names = self._store.ls(f"{LOG}/{staged}")[0] if f"{LOG}/{staged}" in self._directories else {}
            numbers = [int(base) for name in names if (base := name.rpartition("/")[2].partition(".")[0]).isdecimal()]
            if max(numbers, default=-1) > self.newest:
                raise StoreError(
                    f"version {max(numbers)} is only staged, and only its catalog knows whether it is committed",
                    location=self._store.location,
                )

    def read(self, version: int, kinds: Collection[str], tell: Callable[[Iterable[Action]], Told]) -> Told:
        """Read one commit.

        Args:
            version: One of ``commits``.
            kinds: Actions that are read; a commit may have thousands of others.
            tell: Turns these actions, in their order, into a result. It may leave lines unparsed.

        Raises:
            StoreError: The commit is gone or cannot be read, ``tell`` fails on it, or more than DELTA_LOG_BYTES of the
                log would be read.
        """
        name = self.commits[version].name
        try:
            return tell(self._actions(name, kinds))
        except CheckpointNotFoundError as error:
            hint = "The log of the table was cleaned up at this moment; try again."
            raise StoreError("is gone", location=self._store.location, name=name, hint=hint) from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            message = f"version {version} of the Delta log cannot be read: {error}"
            raise StoreError(message, location=self._store.location, name=name) from error

    def _actions(self, name: str, kinds: Collection[str]) -> Iterator[Action]:
        for line in lines_in(self._counted(name), max(self._left, 0)):
            match = _ACTION.match(line)
            if match and (kind := match[1].decode()) in kinds:
                yield kind, line

    def _counted(self, name: str) -> Iterator[bytes]:
        for piece in self._store.chunks(name):
            self._left -= len(piece)
            yield piece


def open_table(store: Store, *, without_files: bool = False, version: int | None = None) -> Any:
    """The table at a location, now or as it was at a version, as deltalake has it. Raises StoreError."""
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ImportError as error:
        hint = "pip install 'spark-ckpt[delta]'"
        raise StoreError("Delta tables need deltalake", location=store.location, hint=hint) from error
    require_held(store, LOG)
    try:
        return DeltaTable(_url(store), version, storage_options=_options(store), without_files=without_files)
    except (DeltaError, OSError) as error:
        raise StoreError(f"deltalake cannot read it: {error}", location=store.location) from error


def _url(store: Store) -> str:
    protocol = store.fs.protocol if isinstance(store.fs.protocol, str) else store.fs.protocol[0]
    return store.root if store.is_local else f"{protocol}://{store.root}"


def _options(store: Store) -> dict[str, str]:
    """The options of the fsspec driver as deltalake has them; those of Azure have the same names."""
    given = {**store.fs.storage_options, **store.fs.storage_options.get("client_kwargs", {})}
    named = {_S3_OPTIONS.get(key, key): value for key, value in given.items() if isinstance(value, str)}
    if named.get("AWS_ENDPOINT_URL", "").startswith("http://"):
        named["AWS_ALLOW_HTTP"] = "true"
    return named
