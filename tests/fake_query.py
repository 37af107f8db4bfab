"""A writer that leaves files as a stateful query of Spark does (HDFS-backed state, format 1), without Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping

from airflow_provider_ckpt.storage.store import Store
from tests.state_streams import delta

QUERY_ID = "7f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"
PARTITIONS, SNAPSHOT_EVERY = 2, 3
FIRST_MS = 1_767_225_600_000
MINUTE_MS = 60_000
ROWS = 10


class FakeQuery:
    """Writes batches; ``files`` is what the checkpoint holds, as the writer knows it."""

    #: Makes the bytes of a state file.
    state_file = staticmethod(delta)

    def __init__(self, store: Store, *, has_watermark: bool = True, query_id: str = QUERY_ID) -> None:
        self.store = store
        self.watermark_ms = watermark_ms if has_watermark else lambda batch_id: 0
        self.files: dict[str, bytes] = {}
        self.written = 0
        self._write("metadata", json.dumps({"id": query_id}).encode())

    def commit(self, batch_id: int, content: str = "a") -> None:
        """Plan a batch unless that was done, write its state, commit it."""
        if f"offsets/{batch_id}" not in self.files:
            self.plan(batch_id)
        version = batch_id + 1
        for partition in range(PARTITIONS):
            state = f"state/0/{partition}/{version}"
            self._write(f"{state}.delta", self.state_file(f"{content} {version} {partition} {self.written}".encode()))
            if version % SNAPSHOT_EVERY == 0:
                whole = f"{content} up to {version} {partition} {self.written}"
                self._write(f"{state}.snapshot", self.state_file(whole.encode()))
        self._write(f"commits/{batch_id}", b'v1\n{"nextBatchWatermarkMs":%d}' % self.watermark_ms(batch_id + 1))

    def plan(self, batch_id: int) -> None:
        """Write the offsets of a batch and no more."""
        metadata = {
            "batchWatermarkMs": self.watermark_ms(batch_id),
            "batchTimestampMs": timestamp_ms(batch_id),
            "conf": {"spark.sql.shuffle.partitions": str(PARTITIONS)},
            "written": self.written,  # no two runs of a batch write the same bytes
        }
        offset = {"offset": ROWS * (batch_id + 1), "timestamp": 0}
        self._write(f"offsets/{batch_id}", f"v1\n{json.dumps(metadata)}\n{json.dumps(offset)}".encode())

    def _write(self, name: str, data: bytes) -> None:
        self.written += 1
        self.store.write(name, data)
        self.files[name] = data


def purge(query: FakeQuery, below: int) -> None:
    """Remove what Spark purges: log entries of batches below one, and state that a restart there does not need."""
    oldest = below - below % SNAPSHOT_EVERY
    for name in list(query.files):
        number = name.rpartition("/")[2].split(".")[0]
        if name != "metadata" and int(number) < (oldest if name.startswith("state/") else below):
            query.store.delete(name)
            del query.files[name]


def timestamp_ms(batch_id: int) -> int:
    """When a batch began: one a minute."""
    return FIRST_MS + batch_id * MINUTE_MS


def watermark_ms(batch_id: int) -> int:
    """The watermark of a batch; the first one has none."""
    return FIRST_MS - 1000 * MINUTE_MS + batch_id * MINUTE_MS if batch_id > 0 else 0


def after_rollback(files: dict[str, bytes], batch_id: int) -> dict[str, bytes]:
    """What a rollback leaves of the files."""

    def stays(name: str) -> bool:
        number = name.rpartition("/")[2].split(".")[0]
        if name.startswith(("offsets/", "commits/")):
            return int(number) <= batch_id
        return not name.startswith("state/") or int(number) <= batch_id + 1

    return {name: data for name, data in files.items() if stays(name)}


def is_restorable(files: Mapping[str, bytes], batch_id: int) -> bool:
    """Whether a restart after a batch finds its log entries, the offsets before it, and its state."""
    logs = {f"offsets/{batch_id}", f"commits/{batch_id}", f"offsets/{max(batch_id - 1, 0)}"}
    return logs <= files.keys() and all(
        _has_state(files, f"state/0/{partition}", batch_id + 1) for partition in range(PARTITIONS)
    )


def _has_state(files: Mapping[str, bytes], store: str, version: int) -> bool:
    base = next((base for base in range(version, 0, -1) if f"{store}/{base}.snapshot" in files), 0)
    return all(f"{store}/{step}.delta" in files for step in range(base + 1, version + 1))


def after_exchange(files: dict[str, bytes], backup: Mapping[str, bytes]) -> dict[str, bytes] | None:
    """What a rollback to a backup leaves of the files; None when it is refused.

    Args:
        files: The checkpoint as it is.
        backup: What the backup holds.
    """
    batch_id = max(int(name[8:]) for name in backup if name.startswith("commits/"))
    logs = (f"offsets/{batch_id}", f"commits/{batch_id}")
    if all(files.get(name) == backup[name] for name in logs) and is_restorable(files, batch_id):
        return after_rollback(files, batch_id)
    others = [int(name[8:]) for name in files if name.startswith("offsets/") and name not in backup]
    left_behind = logs[0] in files or (bool(others) and min(others) > batch_id)
    if not left_behind or any(files[name] != backup[name] for name in files.keys() & backup.keys()):
        return None
    older = {
        name: data
        for name, data in files.items()
        if name.startswith(("offsets/", "commits/")) and int(name[8:]) < batch_id
    }
    return {**older, **backup}


def read_all(store: Store) -> dict[str, bytes]:
    """Every file of a checkpoint."""
    return {name: store.read(name) for name in store.find()}
