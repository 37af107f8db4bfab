"""Every kind of change, made by its command over an S3 API with a clock that stands still: what it says and leaves."""

from __future__ import annotations

import contextlib
import io
import json
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from airflow_provider_ckpt import clock
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.changes.fence import put_fence
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery, purge

NOW_MS = 1_767_312_000_000
BUCKET = "recorded"
BATCHES = 6
EFFECTS = ("duplicated", "skipped", "unknown", "stops")


@dataclass(frozen=True, slots=True)
class Change:
    """A command, and the checkpoint that it changes.

    Args:
        build: Makes the checkpoint and what belongs to it, in a directory of its own.
        arguments: Of the command, with ``{at}`` for that directory.
        has_plan_file: Whether the command writes its plan with ``--plan-out``.
        takes_word: Whether it needs the word that the query is stopped.
        first: A change that is made before it.
    """

    build: Callable[[Store], None]
    arguments: tuple[str, ...]
    has_plan_file: bool = True
    takes_word: bool = True
    first: str = ""


def orders(at: Store, batches: int = BATCHES) -> FakeQuery:
    """A query with state."""
    query = FakeQuery(at.child("orders"))
    for batch_id in range(batches):
        query.commit(batch_id)
    return query


def with_state(at: Store) -> None:
    """A query with state, all of whose batches are committed."""
    orders(at)


def with_sink(at: Store) -> None:
    """Beside it the log of its file sink."""
    orders(at)
    for batch_id in range(BATCHES):
        at.child("out").create(f"_spark_metadata/{batch_id}", b"v1")


def lacking(at: Store) -> None:
    """The log of its file sink has no entry of one batch."""
    with_sink(at)
    at.child("out").delete("_spark_metadata/3")


def purged(at: Store) -> None:
    """A backup of batch 2, which the checkpoint does not have any more."""
    query = orders(at, 3)
    take_backup(query.store, at.child("backups"))
    for batch_id in range(3, BATCHES):
        query.commit(batch_id)
    purge(query, 4)


def backed_up(at: Store) -> None:
    """A backup of the newest batch."""
    take_backup(orders(at).store, at.child("backups"))


def torn(at: Store) -> None:
    """The newest offset entry is cut, and its commit was lost."""
    query = orders(at)
    query.store.write("offsets/5", b"v1\n{")
    query.store.delete("commits/5")


def in_flight(at: Store) -> None:
    """A batch that was planned and not committed."""
    orders(at).plan(BATCHES)


def _log_entry(batch_id: int, *offsets: Mapping[str, Any]) -> bytes:
    metadata = {"batchWatermarkMs": 0, "batchTimestampMs": NOW_MS + batch_id, "conf": {}}
    return "\n".join(["v1", *map(json.dumps, (metadata, *offsets))]).encode()


def _stateless(store: Store, *offsets_of: Callable[[int], Mapping[str, Any]]) -> None:
    store.write("metadata", b'{"id":"7f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"}')
    for batch_id in range(BATCHES):
        store.write(f"offsets/{batch_id}", _log_entry(batch_id, *(offset(batch_id) for offset in offsets_of)))
        store.write(f"commits/{batch_id}", b'v1\n{"nextBatchWatermarkMs":0}')


def two_topics(at: Store) -> None:
    """A query of two Kafka sources."""
    _stateless(at.child("orders"), lambda batch: {"orders": {"0": batch}}, lambda batch: {"users": {"0": 2 * batch}})


def of_delta(at: Store) -> None:
    """A query of a Delta table, which has a version for each batch."""
    table = {"id": "1b1e5b0e-9a1b-4b5e-9c3d-2f6f4d0f1a10", "format": {"provider": "parquet", "options": {}}}
    column = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
    columns = json.dumps({"type": "struct", "fields": [column]})
    schema = {"schemaString": columns, "partitionColumns": [], "configuration": {}}
    first = [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": {**table, **schema}}]
    for version in range(BATCHES + 1):
        said = [{"commitInfo": {"timestamp": NOW_MS - 60_000 * (BATCHES - version), "operation": "WRITE"}}]
        file = {"path": f"{version}.parquet", "partitionValues": {}, "size": 1, "modificationTime": 0}
        lines = [*said, *(first if version == 0 else []), {"add": {**file, "dataChange": True}}]
        at.child("table").write(f"_delta_log/{version:020}.json", "\n".join(map(json.dumps, lines)).encode())
    at_version = {"sourceVersion": 1, "reservoirId": table["id"], "index": -1, "isStartingVersion": False}
    _stateless(at.child("orders"), lambda batch: {**at_version, "reservoirVersion": batch + 1})


TO_OFFSETS = json.dumps({"0": {"orders": {"0": 40}}})
CHANGES: Mapping[str, Change] = {
    "rollback": Change(with_state, ("rollback", "{at}/orders", "--to-batch", "2")),
    "rollback-of-a-batch-in-flight": Change(in_flight, ("rollback", "{at}/orders", "--to-batch", "4")),
    "rollback-with-its-sink": Change(
        with_sink,
        ("rollback", "{at}/orders", "--to-batch", "3", "--sink", "file:{at}/out", "--trim-sink-log"),
    ),
    "rollback-to-a-backup": Change(purged, ("rollback", "{at}/orders", "--to-backup", "{at}/backups/2026")),
    "undo": Change(with_state, ("undo", "{at}/orders"), first="rollback"),
    "repair": Change(
        lacking, ("repair", "{at}/orders", "--sink", "file:{at}/out", "--empty", "3")
    ),
    "reset": Change(
        of_delta, ("reset-offsets", "{at}/orders", "--source", "0=delta:{at}/table", "--to-version", "2")
    ),
    "sources": Change(two_topics, ("sources", "{at}/orders", "--as", "0=1", "--drop", "0")),
    "salvage": Change(torn, ("salvage", "{at}/orders")),
    "fence": Change(two_topics, ("fence", "{at}/orders"), has_plan_file=False, takes_word=False),
    "restore": Change(backed_up, ("restore", "{at}/backups", "--to", "{at}/copy"), takes_word=False),
    "seed": Change(
        two_topics, ("seed", "{at}/new", "--offsets", TO_OFFSETS, "--source", "0=kafka", "--after-batch", "9"),
        takes_word=False,
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Made:
    """What a change has said and left; JSON-ready, without anything of the machine.

    Args:
        keys: The keys of the documents of both runs, the dry one first.
        plan: The plan file, or empty.
        records: The files of its record.
        files: The names of all other files.
    """

    keys: tuple[tuple[str, ...], tuple[str, ...]]
    plan: str
    records: Mapping[str, str]
    files: tuple[str, ...]


def make(name: str, endpoint: str, folder: Path) -> Made:
    """Make a change, and say what came of it. The clock has to stand still (:func:`stand_still`)."""
    change = CHANGES[name]
    options = {"endpoint_url": endpoint, "key": "test", "secret": "test"}
    at = Store.open(f"s3://{BUCKET}/{name}", **options)
    change.build(at)
    opened = [word for key, value in options.items() for word in ("--storage-option", f"{key}={value}")]
    if change.first:
        _run([*_words(CHANGES[change.first], at), *opened, *_agreed(CHANGES[change.first])])
    plan = folder / f"{name}.json"
    written = ["--plan-out", str(plan)] if change.has_plan_file else []
    said = _run([*_words(change, at), *opened, *written])
    done = _run([*_words(change, at), *opened, *_agreed(change)])
    found = sorted(at.find())
    records = [file for file in found if "_ckpt_undo" in file and file.endswith(".json")]
    return Made(
        (said, done),
        plan.read_text() if change.has_plan_file else "",
        {file: at.read(file).decode() for file in records},
        tuple(file for file in found if file not in records),
    )


def _words(change: Change, at: Store) -> list[str]:
    return [word.format(at=at.location) if "{at}" in word else word for word in change.arguments]


def _agreed(change: Change) -> list[str]:
    """What makes a command act, whatever its effect on a sink."""
    accepted = [word for effect in EFFECTS for word in ("--accept-sink", effect)] if change.has_plan_file else []
    return ["--execute", *(["--i-know-it-is-stopped", "--quiet-period", "0"] if change.takes_word else []), *accepted]


def stand_still(patch: Any) -> None:
    """Stop the clock, give the machine and its user a name, and every new query the same id; wait for no writer."""
    patch.setattr(put_fence, "SETTLE_S", 0.0)
    patch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=7, version=4))
    patch.setattr(clock, "time", SimpleNamespace(time_ns=lambda: NOW_MS * 1_000_000))
    patch.setenv("LOGNAME", "ann")
    patch.setattr(os, "uname", lambda: SimpleNamespace(nodename="host"))


def _run(words: list[str]) -> tuple[str, ...]:
    """Run a command, and give the keys of its document."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = run([*words, "--json"])
    assert code == 0, (words, out.getvalue())
    return tuple(sorted(set(_keys(json.loads(out.getvalue())))))


def _keys(value: Any, path: str = "") -> Iterator[str]:
    """The keys of a document, of those in lists once."""
    if isinstance(value, dict):
        for key, held in value.items():
            yield f"{path}{key}"
            yield from _keys(held, f"{path}{key}.")
    if isinstance(value, list):
        for held in value:
            yield from _keys(held, path)
