"""Delta tables: the ``txn`` actions of the log, by which Spark's sink knows a batch again.

The commit of each batch has a ``txn`` with the query id (or a ``txnAppId`` of the user's) and the batch id. The newest
one counts, also after a RESTORE, which takes the rows back and leaves ``txn`` alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.checkpoint.sink_marker import RESTORE, SinkCommit, SinkMarker
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.tables.delta import Action, DeltaLog, open_table
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

if TYPE_CHECKING:
    from airflow_provider_ckpt.query.sink import Sink


@dataclass(frozen=True, slots=True)
class _Commit:
    """The writer that one commit of the log names."""

    operation: str = ""
    restored: int | None = None
    txns: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_restore(self) -> bool:
        return self.operation == RESTORE


def read(sink: Sink, store: Store, query_id: str, batch_id: int) -> SinkMarker:
    """Read a Delta table's memory of a query, or of a ``txnAppId``. Raises StoreError."""
    writer = sink.writer or query_id
    made_of, undone = _go_back(_newest_first(DeltaLog(store)), writer, batch_id)
    last = _transaction_version(store, writer)
    return SinkMarker(
        kind="delta",
        location=store.location,
        writer=writer,
        last_batch=last,
        commits=tuple(reversed(made_of)),
        undone=undone,
    )


def _newest_first(log: DeltaLog) -> Iterator[tuple[int, _Commit]]:
    """Versions and their commits, newest first, as far as there is no gap."""
    version = log.newest
    while version in log.commits:
        yield version, log.read(version, ("commitInfo", "txn"), _tell)
        version -= 1


def _go_back(
    commits: Iterator[tuple[int, _Commit]], writer: str, batch_id: int
) -> tuple[list[SinkCommit], tuple[int, ...]]:
    """Commits that the table consists of, newest first, and the batches that restores took back."""
    made_of: list[SinkCommit] = []
    undone: list[int] = []
    reach: int | None = None  # the newest version that is still part of the table; None for all
    for version, commit in commits:
        batch = None if commit.is_restore else commit.txns.get(writer)
        if reach is not None and version > reach:
            undone += [] if batch is None else [batch]
            continue
        made_of.append(SinkCommit(str(version), batch, commit.operation))
        if (batch is not None and batch <= batch_id) or (commit.is_restore and commit.restored is None):
            break  # far enough; or restored to a time, which is read by the clock of a session that is gone
        reach = commit.restored if commit.is_restore else None
    return made_of, tuple(undone)


def _tell(actions: Iterable[Action]) -> _Commit:
    info: dict[str, Any] = {}
    txns: dict[str, int] = {}
    for _, line in actions:
        action = parse_json(line)
        info = action.get("commitInfo", info)
        if "txn" in action:
            txns[action["txn"]["appId"]] = int(action["txn"]["version"])
    restored = info.get("operationParameters", {}).get("version")
    return _Commit(info.get("operation", ""), None if restored is None else int(restored), txns)


def _transaction_version(store: Store, writer: str) -> int | None:
    """The marker; it may live on in a checkpoint of the log alone, and expires where the table says so."""
    table = open_table(store)
    from deltalake.exceptions import DeltaError

    try:
        version: int | None = table.transaction_version(writer)
    except (DeltaError, OSError) as error:
        raise StoreError(f"deltalake cannot read it: {error}", location=store.location) from error
    return version
