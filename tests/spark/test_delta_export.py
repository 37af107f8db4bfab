"""What ``ckpt export --as startingVersion`` prints starts another reader of a real Delta table right after the batch.

Run by `make sinks`.
"""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.storage.store import Store
from tests.sinks.worker import Worker


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    worker = Worker("lakes", tmp_path_factory.mktemp("lakes") / "warehouse")
    yield worker
    worker.stop()


def test_a_reader_begins_right_after_each_committed_batch(worker, tmp_path, capsys):
    """Version n adds n rows in n files; a batch takes two files, so some batches end inside a version."""
    table, checkpoint = tmp_path / "table", tmp_path / "checkpoint"

    def add(rows: int) -> None:
        worker.sql(f"INSERT INTO delta.`{table}` SELECT /*+ REPARTITION({rows}) */ id AS n FROM range({rows})")

    def read(name: str, **options: str) -> list[int]:
        asked = {"source": "delta", "from": str(table), "checkpoint": str(tmp_path / name), "options": options}
        return [count for _, count in worker.ask(do="stream", **asked)]

    def export(batch_id: int) -> str | None:
        """The version; None where the batch ended inside one."""
        code = run(["export", str(checkpoint), "--as", "startingVersion", "--batch", str(batch_id)])
        said = capsys.readouterr()
        assert code == 0 or (code == 4 and "no startingVersion means that" in said.err)
        return said.out.strip() if code == 0 else None

    worker.sql(f"CREATE TABLE delta.`{table}` (n BIGINT) USING delta")
    for rows in (1, 2, 3, 4):
        add(rows)
    counts = read("checkpoint", startingVersion="0", maxFilesPerTrigger="2")
    newest = observe(Store.open(str(checkpoint))).latest_committed
    assert newest is not None and sum(counts) == 10 and len(counts) == newest + 1
    exported = {batch: export(batch) for batch in range(newest)}
    assert set(exported.values()) > {None}, "some batches end inside a version, and some do not"
    for batch, version in exported.items():
        if version is not None:
            assert sum(read(f"after-{batch}", startingVersion=version)) == 10 - sum(counts[: batch + 1])

    after_all = export(newest)
    assert after_all == "5", "the version after the newest one, which Delta does not know yet"
    with pytest.raises(AssertionError, match="Available versions|VERSION_NOT_FOUND|VersionNotFound"):
        read("too-early", startingVersion=after_all)
    add(6)
    assert sum(read("in-time", startingVersion=after_all)) == 6
