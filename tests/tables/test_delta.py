"""The log of a Delta table, commit by commit: what is read, how much, and what is an error."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.tables.delta import DeltaLog
from airflow_provider_ckpt.untrusted.limits import DELTA_LOG_BYTES


def write(table: Path, version: int, *actions: object) -> Path:
    """One commit, an action a line."""
    path = table / "_delta_log" / f"{version:020}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{action if isinstance(action, str) else json.dumps(action)}\n" for action in actions))
    return path


@pytest.fixture
def table(tmp_path) -> Path:
    """Versions 0 to 2."""
    write(tmp_path, 0, {"protocol": {}}, {"metaData": {"id": "t"}})
    write(tmp_path, 1, {"commitInfo": {"operation": "WRITE"}}, {"add": {"path": "a"}}, {"txn": {"appId": "q"}})
    write(tmp_path, 2, {"commitInfo": {"operation": "OPTIMIZE"}}, {"remove": {"path": "a"}}, {"add": {"path": "b"}})
    return tmp_path


def log_of(table: Path) -> DeltaLog:
    return DeltaLog(Store.open(str(table)))


def kinds_read(log: DeltaLog, version: int, *kinds: str) -> list[str]:
    return log.read(version, kinds, lambda actions: [kind for kind, _ in actions])


def test_commits_are_found_by_their_names_alone(table):
    for other in ("00000000000000000003.checkpoint.parquet", "4.json", "_last_checkpoint", "00000000000000000005.crc"):
        (table / "_delta_log" / other).write_text("{}")
    log = log_of(table)
    assert sorted(log.commits) == [0, 1, 2]
    assert log.newest == 2


@pytest.mark.parametrize(
    ("version", "kinds", "found"),
    [
        (1, ("commitInfo", "txn"), ["commitInfo", "txn"]),
        (1, ("add",), ["add"]),
        (2, ("add", "remove", "cdc"), ["remove", "add"]),
        (0, ("commitInfo",), []),
    ],
)
def test_only_the_actions_that_were_asked_for_are_read_in_their_order(table, version, kinds, found):
    assert kinds_read(log_of(table), version, *kinds) == found


def test_the_line_of_an_action_is_its_json(table):
    lines = log_of(table).read(1, ("txn",), lambda actions: [json.loads(line) for _, line in actions])
    assert lines == [{"txn": {"appId": "q"}}]


def test_another_directory_is_no_delta_table(tmp_path):
    with pytest.raises(StoreError, match="is not a Delta table"):
        log_of(tmp_path)


@pytest.mark.parametrize(
    "error", [ValueError("x"), KeyError("x"), TypeError("x"), AttributeError("x"), RecursionError("x")]
)
def test_what_cannot_be_understood_names_the_version_and_its_file(table, error):
    def fail(_: object) -> None:
        raise error

    with pytest.raises(StoreError, match="version 2 of the Delta log cannot be read") as raised:
        log_of(table).read(2, ("add",), fail)
    assert raised.value.name == "_delta_log/00000000000000000002.json"
    assert raised.value.location == str(table)


def test_a_commit_that_was_cleaned_meanwhile_is_gone(table):
    log = log_of(table)
    (table / "_delta_log" / "00000000000000000001.json").unlink()
    with pytest.raises(StoreError, match="is gone") as raised:
        kinds_read(log, 1, "add")
    assert "try again" in raised.value.hint


def test_no_more_than_the_limit_is_read_of_all_commits_together(table, monkeypatch):
    monkeypatch.setattr("airflow_provider_ckpt.tables.delta.DELTA_LOG_BYTES", 1000)
    for version in (3, 4):
        write(table, version, {"add": {"path": "x" * 600}})
    log = log_of(table)
    assert kinds_read(log, 4, "add") == ["add"]
    with pytest.raises(StoreError, match="larger than"):
        kinds_read(log, 3, "add")


def test_a_commit_of_ten_gigabytes_is_refused_without_being_held(table):
    os.truncate(write(table, 3, {"add": {}}), DELTA_LOG_BYTES * 20)
    with pytest.raises(StoreError, match="a line is longer than 4 MiB"):
        kinds_read(log_of(table), 3, "add")


@pytest.mark.parametrize(("staged", "refused"), [(3, True), (2, False)])
@pytest.mark.parametrize("directory", ["_staged_commits", "_commits"])
def test_a_version_that_its_catalog_alone_knows_is_refused(table, directory, staged, refused):
    path = table / "_delta_log" / directory / f"{staged:020}.0f1e-uuid.json"
    path.parent.mkdir()
    path.write_text("{}")
    log = log_of(table)
    if refused:
        with pytest.raises(StoreError, match="version 3 is only staged"):
            log.require_no_staged()
    else:
        log.require_no_staged()


# --- what the log still tells ----------------------------------------------------------------------------------------

ONE_OF_TWO, TWO_OF_TWO = (f"{{version:020}}.checkpoint.000000000{part}.0000000002.parquet" for part in (1, 2))
WITH_ID = "{version:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
LOGS = {
    "all commits": (range(6), (), {0: True, 5: True, 6: False}),
    "a checkpoint, and what comes after": (range(4, 6), ((3, "{version:020}.checkpoint.parquet"),), {2: False, 3: True, 5: True}),
    "a checkpoint after it": (range(2, 6), ((3, "{version:020}.checkpoint.parquet"),), {2: False, 3: True}),
    "a commit is missing": ((0, 1, 3), (), {1: True, 3: False}),
    "a checkpoint of several files": (range(4, 6), ((3, ONE_OF_TWO), (3, TWO_OF_TWO)), {3: True, 5: True}),
    "a checkpoint that lacks a file": (range(4, 6), ((3, ONE_OF_TWO),), {3: False, 5: False}),
    "a checkpoint with an id": (range(4, 6), ((3, WITH_ID),), {3: True, 5: True}),
}  # fmt: skip


@pytest.mark.parametrize(("commits", "checkpoints", "answers"), LOGS.values(), ids=LOGS)
def test_a_version_can_be_rebuilt_from_a_checkpoint_and_all_commits_after_it(tmp_path, commits, checkpoints, answers):
    log = tmp_path / "_delta_log"
    log.mkdir()
    for version in commits:
        (log / f"{version:020}.json").write_text("{}")
    for version, name in checkpoints:
        (log / name.format(version=version)).write_text("")
    delta = DeltaLog(Store.open(str(tmp_path)))
    assert {version: delta.can_rebuild(version) for version in answers} == answers
