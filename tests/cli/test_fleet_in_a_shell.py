"""The loops of docs/how-to/roll-back.md, as a reader runs them: bookmarks of a fleet, all plans, exactly those plans."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.storage.store import Store
from tests.docs.blocks import blocks_of
from tests.fake_query import QUERY_ID, FakeQuery

PAGE = Path(__file__).parents[2] / "docs/how-to/roll-back.md"


@pytest.mark.exhaustive
def test_a_fleet_goes_back_by_the_loops_of_the_page(tmp_path):
    """A program for each command takes half a second or more."""
    loops = [block.text for block in blocks_of(PAGE) if "test_fleet_in_a_shell" in block.notes.get("run by", "")]
    gates, plans, rollbacks = (loop.replace("s3://lake/checkpoints", str(tmp_path)) for loop in loops)
    plans = plans.replace("file:s3://lake/tables/", f"file:{tmp_path}/tables/")
    orders = FakeQuery(Store.open(str(tmp_path / "orders")))
    clicks = FakeQuery(Store.open(str(tmp_path / "clicks")), query_id=QUERY_ID.replace("7f", "8f"))
    queries = [orders, clicks]
    commit(queries, 0, 1)
    in_a_shell(gates, tmp_path)
    commit(queries, 2, 3)
    for query in ("orders", "clicks"):
        write_sink_log(tmp_path / "tables" / query, 4)

    said = in_a_shell(plans, tmp_path)
    assert said.stdout.count("rollback to batch 1") == 2 and newest(queries) == [3, 3]
    (tmp_path / "plans" / "orders.json").write_text("cut off")
    said = in_a_shell(rollbacks, tmp_path)
    assert "orders is not back" in said.stdout and newest(queries) == [3, 1]

    (tmp_path / "plans" / "orders.json").unlink()
    in_a_shell(plans, tmp_path)
    said = in_a_shell(rollbacks, tmp_path)
    assert "is not back" not in said.stdout and newest(queries) == [1, 1]
    assert [entries_of(tmp_path / "tables" / query) for query in ("orders", "clicks")] == [{"0", "1"}, {"0", "1"}]


def commit(queries: list[FakeQuery], *batches: int) -> None:
    for query in queries:
        for batch_id in batches:
            query.commit(batch_id)


def write_sink_log(table: Path, entries: int) -> None:
    (table / "_spark_metadata").mkdir(parents=True)
    for batch_id in range(entries):
        (table / "_spark_metadata" / str(batch_id)).write_text("v1")


def entries_of(table: Path) -> set[str]:
    """The log of a sink, which drops a batch that it has an entry of."""
    return {path.name for path in (table / "_spark_metadata").iterdir()}


def newest(queries: list[FakeQuery]) -> list[int | None]:
    return [observe(query.store).latest_committed for query in queries]


def in_a_shell(script: str, directory: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-c", script], cwd=directory, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
