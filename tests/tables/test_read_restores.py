"""RESTOREs as they are in the logs of tables: by Spark and by deltalake, to a version and to a time."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pytest
from deltalake import DeltaTable, write_deltalake

from airflow_provider_ckpt.codec.offsets.delta import DeltaOffset
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.tables.delta import DeltaLog
from airflow_provider_ckpt.tables.delta_restores import Reverted
from airflow_provider_ckpt.tables.read_restores import has_restore, read_restores, read_reverted
from tests.delta_times import during, spread


def add(table: Path, number: int) -> None:
    write_deltalake(str(table), pyarrow.table({"n": [number]}), mode="append")


def log_of(table: Path) -> DeltaLog:
    return DeltaLog(Store.open(str(table)))


def restore(table: Path, version: int, how: str) -> None:
    """Restore a table; what Spark writes of it is what it wrote of a real one."""
    made = DeltaTable(str(table)).version() + 1
    spread(table)
    DeltaTable(str(table)).restore(during(version) if "time" in how else version)
    if how.startswith("Spark"):
        path = table / "_delta_log" / f"{made:020}.json"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        told = (
            {"version": None, "timestamp": "2026-11-27 00:26:55.559"}
            if "time" in how
            else {"version": version, "timestamp": None}
        )
        lines[0]["commitInfo"]["operationParameters"] = told
        path.write_text("\n".join(map(json.dumps, lines)))


@pytest.mark.parametrize("how", ["deltalake", "deltalake, to a time", "Spark", "Spark, to a time"])
def test_a_restore_is_found_with_the_version_it_went_back_to(how, tmp_path):
    for number in range(5):
        add(tmp_path, number)
    restore(tmp_path, 2, how)
    add(tmp_path, 6)
    log = log_of(tmp_path)
    assert has_restore(log, 0) and has_restore(log, 5) and not has_restore(log, 6)
    commits, restores = read_restores(log, 4)
    assert restores.targets == {5: 2} and sorted(commits) == [3, 4, 5, 6], "as far back as it went"
    assert read_reverted(log, DeltaOffset("t", 3)) == Reverted((5,), (3, 4), (), 5)


def test_a_restore_to_a_time_goes_back_through_rewritten_files(tmp_path):
    for number in range(4):
        add(tmp_path, number)
    DeltaTable(str(tmp_path)).optimize.compact()
    DeltaTable(str(tmp_path)).delete("n > 1")
    restore(tmp_path, 1, "Spark, to a time")
    assert read_restores(log_of(tmp_path), 6)[1].targets == {6: 1}


def test_files_with_other_deleted_rows_are_other_files(tmp_path):
    """A delete of single rows adds the same file again, with a vector of what is deleted."""
    log = tmp_path / "_delta_log"
    log.mkdir()
    file = {"path": "a", "size": 1, "dataChange": True}
    one, two = ({**file, "deletionVector": {"pathOrInlineDv": "v", "offset": offset}} for offset in (1, 40))
    commits = [
        [{"add": file}], [{"remove": file}, {"add": one}], [{"remove": one}, {"add": two}], [{"remove": two}, {"add": one}],
    ]  # fmt: skip
    info = {"commitInfo": {"operation": "RESTORE", "operationParameters": {"version": None, "timestamp": "2026-01-01"}}}
    for version, actions in enumerate(commits):
        lines = [*([info] if version == 3 else []), *actions]
        (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, lines)))
    assert read_restores(log_of(tmp_path), 2)[1].targets == {3: 1}


def test_where_the_log_is_gone_nobody_knows_how_far_a_restore_to_a_time_went(tmp_path):
    for number in range(5):
        add(tmp_path, number)
    restore(tmp_path, 1, "Spark, to a time")
    for version in range(4):
        (tmp_path / "_delta_log" / f"{version:020}.json").unlink()
    assert read_reverted(log_of(tmp_path), DeltaOffset("t", 4)) == Reverted((5,), known=False)


def test_a_version_that_was_to_come_is_no_target(tmp_path):
    for number in range(2):
        add(tmp_path, number)
    restore(tmp_path, 0, "Spark")
    path = tmp_path / "_delta_log" / f"{2:020}.json"
    path.write_text(path.read_text().replace('"version": 0', '"version": 7'))
    assert read_restores(log_of(tmp_path), 2)[1].targets == {2: None}
