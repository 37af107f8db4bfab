"""Delta tables: the ``txn`` actions of the log, by which Spark's sink knows a batch again.

The commit of each batch has a ``txn`` with the query id (or a ``txnAppId`` of the user's) and the batch id. The newest
one counts, also after a RESTORE, which takes the rows back and leaves ``txn`` alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.checkpoint.sink_marker import RESTORE, SinkCommit, SinkMarker
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.bounded_json import parse_json
from airflow_provider_ckpt.untrusted.limits import DELTA_LOG_BYTES
from airflow_provider_ckpt.untrusted.lines import lines_in

if TYPE_CHECKING:
    from airflow_provider_ckpt.sinks.declared import DeclaredSink

LOG = "_delta_log"
_COMMIT = re.compile(rf"{LOG}/(\d{{20}})\.json")
#: Actions that are read; a commit may have thousands of others.
_READ = re.compile(rb'\s*\{\s*"(commitInfo|txn)"')

#: What the S3 options of fsspec are called in deltalake.
_S3_OPTIONS = {
    "key": "AWS_ACCESS_KEY_ID",
    "secret": "AWS_SECRET_ACCESS_KEY",
    "token": "AWS_SESSION_TOKEN",
    "endpoint_url": "AWS_ENDPOINT_URL",
    "region_name": "AWS_REGION",
}


@dataclass(frozen=True, slots=True)
class _Commit:
    """What one commit of the log says of itself."""

    version: int
    operation: str = ""
    restored: int | None = None
    txns: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_restore(self) -> bool:
        return self.operation == RESTORE


def read(sink: DeclaredSink, store: Store, query_id: str, batch_id: int) -> SinkMarker:
    """What a Delta table remembers of a query, or of a ``txnAppId``. Raises StoreError."""
    writer = sink.writer or query_id
    names = {int(match[1]): name for name in store.ls(LOG)[0] if (match := _COMMIT.fullmatch(name))}
    if not names:
        raise StoreError("is no Delta table: it has no commits in _delta_log", location=store.location)
    made_of, undone = _go_back(_newest_first(store, names), writer, batch_id)
    last = _transaction_version(store, writer)
    return SinkMarker("delta", store.location, writer, last, tuple(reversed(made_of)), undone)


def _newest_first(store: Store, names: Mapping[int, str]) -> Iterator[_Commit]:
    """Commits, newest first, as far as there is no gap."""
    version = max(names)
    left = DELTA_LOG_BYTES

    def counted(name: str) -> Iterator[bytes]:
        nonlocal left
        for piece in store.chunks(name):
            left -= len(piece)
            yield piece

    while version in names:
        yield _parse(version, lines_in(counted(names[version]), max(left, 0)))
        version -= 1


def _go_back(commits: Iterator[_Commit], writer: str, batch_id: int) -> tuple[list[SinkCommit], tuple[int, ...]]:
    """What the table is made of, newest first; the batches that restores took back."""
    made_of: list[SinkCommit] = []
    undone: list[int] = []
    reach: int | None = None  # the newest version that is still part of the table; None for all
    for commit in commits:
        batch = None if commit.is_restore else commit.txns.get(writer)
        if reach is not None and commit.version > reach:
            undone += [] if batch is None else [batch]
            continue
        made_of.append(SinkCommit(str(commit.version), batch, commit.operation))
        if (batch is not None and batch <= batch_id) or (commit.is_restore and commit.restored is None):
            break  # far enough; or restored to a time, which is read by the clock of a session that is gone
        reach = commit.restored if commit.is_restore else None
    return made_of, tuple(undone)


def _parse(version: int, lines: Iterable[bytes]) -> _Commit:
    info: dict[str, Any] = {}
    txns: dict[str, int] = {}
    try:
        for line in lines:
            if not _READ.match(line):
                continue
            action = parse_json(line)
            info = action.get("commitInfo", info)
            if "txn" in action:
                txns[action["txn"]["appId"]] = int(action["txn"]["version"])
        restored = info.get("operationParameters", {}).get("version")
        return _Commit(version, info.get("operation", ""), None if restored is None else int(restored), txns)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"version {version} of the Delta log cannot be read: {error}") from error


def _transaction_version(store: Store, writer: str) -> int | None:
    """The marker; it may live on in a checkpoint of the log alone, and expires where the table says so."""
    table = open_table(store)
    from deltalake.exceptions import DeltaError

    try:
        version: int | None = table.transaction_version(writer)
    except (DeltaError, OSError) as error:
        raise StoreError(f"deltalake cannot read it: {error}", location=store.location) from error
    return version


def open_table(store: Store, *, without_files: bool = False) -> Any:
    """The table at a location, as deltalake has it. Raises StoreError."""
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ImportError as error:
        hint = "pip install 'ckpt-cli[delta]'"
        raise StoreError("Delta tables need deltalake", location=store.location, hint=hint) from error
    try:
        return DeltaTable(_url(store), storage_options=_options(store), without_files=without_files)
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
