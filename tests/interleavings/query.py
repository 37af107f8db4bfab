"""A stateful query as Spark runs it, call by call, and what of its files tells which rows its state has counted.

Rows are numbered. A batch reads those after the end of the batch before up to its own end; a delta says which rows it
has added, and to which it was added is known by its version. Measured on Spark 4.3: the two logs are listed and read at
the start, the offsets are written before the batch runs and its commit after it, each entry where there is none, state
over whatever was there; log entries that are too old go when a batch is planned. Spark looks whether an entry is there
and then renames its own to it, without a lock: a query that sleeps between the two while an undo puts the entry back
replaces it, which no reading of ours can prevent. That is left out here, by making the two one call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from airflow_provider_ckpt.codec.offset_log import CLOSING
from airflow_provider_ckpt.errors import CheckpointNotFoundError, ObjectExistsError
from airflow_provider_ckpt.storage.store import Store
from tests.state_streams import END, delta

QUERY_ID = "7f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"
ROWS = 10
STATE = "state/0/0"


class StoppedError(Exception):
    """Spark has stopped, with an error of its own."""


def metadata() -> bytes:
    return json.dumps({"id": QUERY_ID}).encode()


def offsets(batch_id: int, end: int) -> bytes:
    """An entry of the offset log; of a batch that is planned anew it has another time."""
    facts = {
        "batchWatermarkMs": 0,
        "batchTimestampMs": 1_767_225_600_000 + batch_id,
        "conf": {"spark.sql.shuffle.partitions": "1"},
    }
    return f"v1\n{json.dumps(facts)}\n{json.dumps({'orders': {'0': end}})}".encode()


def end_of(entry: bytes) -> int:
    """Up to which row a batch reads."""
    return int(json.loads(entry.decode().split("\n")[2])["orders"]["0"])


COMMIT = b'v1\n{"nextBatchWatermarkMs":0}'


def state(first: int, last: int) -> bytes:
    """A delta that adds rows, or a snapshot that holds them."""
    return delta(json.dumps({"after": first, "up_to": last}).encode().ljust(40))


def rows_of(data: bytes) -> tuple[int, int] | None:
    """Which rows a file of state is about; None when it is not whole."""
    begin, end = data.find(b'{"after"'), data.find(END)
    if begin < 0 or end < 0:
        return None
    after = json.loads(data[begin:end])
    return after["after"], after["up_to"]


def batches(files: Mapping[str, bytes], log: str) -> list[int]:
    """The batches of a log, ascending."""
    names = (name.removeprefix(f"{log}/") for name in files if name.startswith(f"{log}/"))
    return sorted(int(name) for name in names if name.isdigit())


def rows_in_state(files: Mapping[str, bytes], version: int, moved: tuple[int, int] | None = None) -> int | None:
    """Up to which row a version of the state has counted each row once; None when Spark cannot load it.

    ``moved`` is a batch that may begin with another row, and the row before that. Raises ValueError when Spark loads
    it, and rows are in it twice or not at all.
    """
    base = next((at for at in range(version, 0, -1) if f"{STATE}/{at}.snapshot" in files), 0)
    steps = [f"{STATE}/{base}.snapshot"] if base else []
    deltas = {f"{STATE}/{at}.delta": at - 1 for at in range(base + 1, version + 1)}
    counted = 0
    for name in (*steps, *deltas):
        rows = rows_of(files[name]) if name in files else None
        if rows is None:
            return None
        if rows[0] != counted and (deltas.get(name), rows[0]) != moved:
            raise ValueError(f"{name} adds the rows after {rows[0]} to the rows up to {counted}")
        counted = rows[1]
    return counted


def run_query(store: Store, count: int, *, rows: int = ROWS, retain: int = 2) -> None:
    """Start from what is there and run some batches of so many rows. Raises StoppedError as Spark does."""
    query = _Query(store)
    query.start()
    for _ in range(count):
        query.run_batch(rows, retain)


class _Query:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.next, self.begin, self.end, self.planned = 0, 0, 0, False

    def start(self) -> None:
        """Find the batch to run, and load the state before it."""
        planned = self._batches("offsets")
        committed = self._batches("commits")
        newest = planned[-1] if planned else -1
        if newest < 0:
            raise StoppedError("nothing was planned")
        last = committed[-1] if committed else -1
        self.planned = last < newest
        self.next = newest if self.planned else newest + 1
        if self.planned:
            self.end = self._end(newest)
        self.begin = self._end(self.next - 1) if self.next else 0
        if not self.planned and newest:
            self._read(f"offsets/{newest - 1}")
        if last > newest:
            raise StoppedError("CONCURRENT_STREAM_LOG_UPDATE")
        self._load(self.next)

    def run_batch(self, rows: int, retain: int) -> None:
        """Plan a batch unless that was done, write its state, commit it."""
        if self.planned:
            end = self.end
        else:
            end = self.begin + rows
            self._add(f"offsets/{self.next}", offsets(self.next, end))
        if self.next - retain > 0:
            for log in ("offsets", "commits"):
                for batch in self._batches(log):
                    if batch < self.next - retain:
                        self.store.delete(f"{log}/{batch}")
        self.store.write(f"{STATE}/{self.next + 1}.delta", state(self.begin, end))
        self._add(f"commits/{self.next}", COMMIT)
        self.next, self.begin, self.planned = self.next + 1, end, False

    def _batches(self, log: str) -> list[int]:
        names = (name.removeprefix(f"{log}/") for name in self.store.names(log))
        return sorted(int(name) for name in names if name.isdigit())

    def _add(self, name: str, data: bytes) -> None:
        """Write an entry of a log where there is none. Spark looks and then renames; here that is one call."""
        try:
            self.store.create(name, data)
        except ObjectExistsError as error:
            raise StoppedError("CONCURRENT_STREAM_LOG_UPDATE") from error

    def _read(self, name: str) -> bytes:
        try:
            return self.store.read(name)
        except CheckpointNotFoundError as error:
            raise StoppedError(f"{name} doesn't exist") from error

    def _end(self, batch_id: int) -> int:
        """Up to which row a planned batch reads."""
        entry = self._read(f"offsets/{batch_id}")
        if entry == CLOSING:
            raise StoppedError("INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION")
        return end_of(entry)

    def _load(self, version: int) -> None:
        """Read the files of a version of the state, newest snapshot first."""
        there = set(self.store.names(STATE))
        base = next((at for at in range(version, 0, -1) if f"{STATE}/{at}.snapshot" in there), 0)
        names = [f"{STATE}/{base}.snapshot"] if base else []
        for name in (*names, *(f"{STATE}/{at}.delta" for at in range(base + 1, version + 1))):
            if rows_of(self._read(name)) is None:
                raise StoppedError("CANNOT_LOAD_STATE_STORE")
