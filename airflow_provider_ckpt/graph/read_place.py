"""Reading a table or the output directory of a file sink: what tells it apart, and which queries have written it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.graph.place import Place, Written
from airflow_provider_ckpt.graph.proven_types import Proof
from airflow_provider_ckpt.query.paths import Paths
from airflow_provider_ckpt.query.spark_version import SparkVersion
from airflow_provider_ckpt.sinks.file import read_file_sink
from airflow_provider_ckpt.sinks.iceberg import EPOCH_ID, QUERY_ID
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.tables.delta import Action, DeltaLog, open_table
from airflow_provider_ckpt.tables.iceberg import METADATA, ancestors_of, current_metadata
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

#: What Delta calls the commit of a batch by its own sink.
_STREAMING = "STREAMING UPDATE"
_DELTA_ENGINE = re.compile(r"Apache-Spark/(\d{1,3})\.(\d{1,3})\b")
_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})\b")
#: So many commits of a Delta table are read back for the newest one of a query.
MOST_COMMITS = 1_000


def is_iceberg(store: Store) -> bool:
    """True if a directory has the metadata of an Iceberg table."""
    return any(name.endswith(".metadata.json") for name in store.ls(METADATA)[0])


def read_place(kind: str, store: Store, query_ids: Collection[str], paths: Paths) -> Place:
    """A table, or an output directory. Raises StoreError.

    Args:
        kind: ``delta``, ``iceberg`` or ``file``.
        store: Where it is.
        query_ids: The queries whose batches are searched for in it.
        paths: How locations that a table names are opened.
    """
    if kind == "delta":
        return _delta(store, query_ids)
    return _iceberg(store, query_ids, paths) if kind == "iceberg" else _output(store)


def _output(store: Store) -> Place:
    return Place("file", store.location, entries_ms=read_file_sink(store).entries_ms)


# --- Delta -----------------------------------------------------------------------------------------------------------


def _delta(store: Store, query_ids: Collection[str]) -> Place:
    table = open_table(store, without_files=True)
    from deltalake.exceptions import DeltaError

    try:
        table_id, version = str(table.metadata().id), int(table.version())
        newest = {query_id: table.transaction_version(query_id) for query_id in query_ids}
    except (DeltaError, OSError) as error:
        raise StoreError(f"deltalake cannot read it: {error}", location=store.location) from error
    found = {query_id: batch for query_id, batch in newest.items() if batch is not None}
    proof = Proof(f"{store.location}/_delta_log", "has this id in its metaData")
    written = _written(store, found) if found else {}
    return Place("delta", store.location, table_id, version, proof=proof, written=written)


def _written(store: Store, newest: dict[str, int]) -> dict[str, Written]:
    """The newest commit of each query; one that only a checkpoint of the log has is of no known kind."""
    log = DeltaLog(store)
    found: dict[str, Written] = {}
    for version in sorted(log.commits, reverse=True)[:MOST_COMMITS]:
        info, txns = log.read(version, ("commitInfo", "txn"), _tell)
        for query_id, batch in txns.items():
            if query_id in newest and query_id not in found and batch == newest[query_id]:
                found[query_id] = _commit(store, log.commits[version].name, info, query_id, batch)
        if len(found) == len(newest):
            break
    left = Proof(f"{store.location}/_delta_log", "has the query id in a txn, and no commit of it any more")
    return {query_id: found.get(query_id) or Written(batch, left, False) for query_id, batch in newest.items()}


def _commit(store: Store, name: str, info: dict[str, Any], query_id: str, batch: int) -> Written:
    told = info.get("operationParameters")
    is_sink = info.get("operation") == _STREAMING and isinstance(told, dict) and told.get("queryId") == query_id
    operation = str(info.get("operation") or "commit")
    proof = Proof(f"{store.location}/{name}", f"is the {operation[:40]} of batch {batch} of the query id")
    return Written(batch, proof, is_sink, _spark_of(_DELTA_ENGINE, info.get("engineInfo")))


def _tell(actions: Iterable[Action]) -> tuple[dict[str, Any], dict[str, int]]:
    info: dict[str, Any] = {}
    txns: dict[str, int] = {}
    for kind, line in actions:
        value = parse_json(line)[kind]
        if kind == "txn":
            txns[value["appId"]] = int(value["version"])
        else:
            info = value
    return info, txns


def _spark_of(pattern: re.Pattern[str], text: object) -> SparkVersion | None:
    match = pattern.match(text) if isinstance(text, str) else None
    return None if match is None else (int(match[1]), int(match[2]))


# --- Iceberg ---------------------------------------------------------------------------------------------------------


def _iceberg(store: Store, query_ids: Collection[str], paths: Paths) -> Place:
    metadata = current_metadata(store)
    file = f"{store.location}/{METADATA}"
    written: dict[str, Written] = {}
    for snapshot in ancestors_of(metadata, store):
        summary = snapshot.summary
        query_id, epoch = (summary.get(QUERY_ID), summary.get(EPOCH_ID)) if summary else (None, None)
        if (
            query_id is not None
            and query_id in query_ids
            and query_id not in written
            and epoch is not None
            and epoch.isdecimal()
        ):
            proof = Proof(file, f"has the query id and epoch {epoch} in the summary of snapshot {snapshot.snapshot_id}")
            is_spark = summary.get("engine-name") == "spark"
            spark = _spark_of(_VERSION, summary.get("engine-version")) if is_spark else None
            written[query_id] = Written(int(epoch), proof, True, spark)
    return Place(
        "iceberg",
        store.location,
        str(metadata.table_uuid),
        snapshots=frozenset(snapshot.snapshot_id for snapshot in metadata.snapshots),
        says_location=paths.opened(str(metadata.location)),
        proof=Proof(file, "has it"),
        written=written,
    )
