"""Restores: to other places, as a fork, over and over, and with the storage failing at every call."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.relocation import PathRule
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.changes.restore import restore as restore_module
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.errors import BackupCorruptError, CheckpointError, ObjectExistsError
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.storage.store import Store
from tests.faults import Fault, FaultyStore

EXHAUSTIVE = bool(os.environ.get("CKPT_EXHAUSTIVE"))
FORK_ID = "0b1f3a9c-0000-4000-8000-000000000001"
CASES = ["file-to-parquet-12", "agg-rocksdb-changelog-v2", "transform-with-state"]


@pytest.fixture
def root(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path / "backups"))


def back_up(home: Path, root: Store) -> Manifest:
    return take_backup(Store.open(str(home / "checkpoint")), root)


def contents(store: Store) -> dict[str, bytes]:
    return {name: store.read(name) for name in store.find()}


# --- what is written ------------------------------------------------------------------------------------------------


def test_a_restore_is_the_backup_byte_for_byte(goldens, root, tmp_path):
    taken = back_up(goldens["4.3.0/file-to-parquet-12"], root)
    target = Store.open(str(tmp_path / "restored"))
    restore_module.restore(make_restore(root, taken, target), root, target, accept_sink="unknown")
    assert contents(target) == {item.name: root.read(item.stored_at) for item in taken.objects}


def test_schema_paths_follow_the_checkpoint_and_stale_checksums_are_left_out(goldens, root, tmp_path):
    taken = back_up(goldens["4.3.0/transform-with-state"], root)
    target = Store.open(str(tmp_path / "restored"))
    restore_module.restore(make_restore(root, taken, target), root, target, accept_sink="unknown")
    wrote, names = contents(target), {item.name for item in taken.objects}
    metadata = "state/0/_metadata/v2/0"
    assert names - wrote.keys() == {"state/0/_metadata/v2/.0.crc"}
    assert f'"file:{target.location}/state/0/_stateSchema/default/0_'.encode() in wrote[metadata]
    assert b"/golden/" not in wrote[metadata]
    stored = {item.name: root.read(item.stored_at) for item in taken.objects}
    assert {name for name, data in wrote.items() if data != stored[name]} == {metadata}


def test_input_paths_are_rewritten_by_rule(goldens, root, tmp_path):
    taken = back_up(goldens["4.3.0/file-to-parquet-12"], root)
    target = Store.open(str(tmp_path / "restored"))
    rule = PathRule("/golden/file-to-parquet-12/input", "s3a://lake/in")
    plan = make_restore(root, taken, target, path_rules=[rule])
    assert any("12 of 12 absolute paths are rewritten" in warning for warning in plan.warnings)
    restore_module.restore(plan, root, target, accept_sink="unknown")
    before, after = root.read(f"{taken.backup_id}/checkpoint/sources/0/9.compact"), target.read("sources/0/9.compact")
    assert after == before.replace(b"file:///golden/file-to-parquet-12/input", b"s3a://lake/in") != before
    assert "sources/0/.9.compact.crc" not in target.find()


def test_a_fork_differs_in_its_id_alone(goldens, root, tmp_path):
    taken = back_up(goldens["4.3.0/agg-hdfs"], root)
    target = Store.open(str(tmp_path / "fork"))
    restore_module.restore(make_restore(root, taken, target, FORK_ID), root, target, accept_sink="unknown")
    wrote = contents(target)
    differ = {item.name for item in taken.objects if wrote.get(item.name) != root.read(item.stored_at)}
    assert differ == {"metadata", ".metadata.crc"}
    assert observe(target).query_id == FORK_ID


@pytest.mark.parametrize(("options", "effect"), [((), "exact"), (("--new-query-id",), "exact")])
def test_the_command_shows_verdicts_paths_and_changes_nothing(golden, root, tmp_path, capsys, options, effect):
    checkpoint = golden("file-to-parquet-12")
    taken = back_up(checkpoint.parent, root)
    log = tmp_path / "out" / "_spark_metadata"
    log.mkdir(parents=True)
    (log / str(taken.batch_id)).write_text("v1")
    arguments = [
        "restore",
        root.location,
        "latest",
        "--to",
        str(tmp_path / "new"),
        "--sink",
        f"file:{tmp_path / 'out'}",
    ]
    assert run([*arguments, *options, "--rewrite-paths", "/golden=/gold", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    assert [item["effect"] for item in plan["sink_effects"]] == [effect]
    assert not (tmp_path / "new").exists()
    (log / str(taken.batch_id + 1)).write_text("v1")
    assert run([*arguments, *options, "--json"]) == 0
    assert [item["effect"] for item in json.loads(capsys.readouterr().out)["plan"]["sink_effects"]] == ["skipped"]


def test_a_rule_that_is_none_is_a_usage_error(root, tmp_path, goldens):
    back_up(goldens["4.3.0/file-to-parquet-5"], root)
    assert run(["restore", root.location, "latest", "--to", str(tmp_path / "new"), "--rewrite-paths", "in"]) == 2


# --- how it is written ----------------------------------------------------------------------------------------------


class Watched(Store):
    """Notes what is copied to it and when it is flushed."""

    def copy(self, name, to, to_name):
        self.together.wait() if self.together and to_name.startswith("state/") else None
        copied = super().copy(name, to, to_name)
        to.events.append(to_name)
        return copied

    def flush(self):
        self.events.append("flush")


def watched(location: str, together: threading.Barrier | None = None) -> Watched:
    store = Watched.open(location)
    store.events, store.together = [], together
    return store


def is_log_entry(name: str) -> bool:
    return name.startswith(("offsets/", "commits/"))


@pytest.mark.parametrize("threads", [1, 4])
def test_log_entries_are_written_in_order_around_the_rest(goldens, root, tmp_path, threads):
    taken = back_up(goldens["4.3.0/agg-rocksdb"], root)
    target, told = watched(str(tmp_path / "restored")), []
    plan = make_restore(root, taken, target)
    restore_module.restore(
        plan,
        watched(root.location),
        target,
        threads=threads,
        on_step=lambda *step: told.append(step),
        accept_sink="unknown",
    )
    ordered = [action.name for action in plan.actions if is_log_entry(action.name)]
    assert [name for name in target.events if is_log_entry(name)] == ordered
    assert ordered[0] == f"offsets/{taken.batch_id}" and f"offsets/{taken.batch_id - 1}" in ordered[-2:]
    between = target.events.index("flush")
    assert {name for name in target.events[:between] if not is_log_entry(name)} == plan.writes() - set(ordered)
    assert f"commits/{taken.batch_id}" in target.events[between:], "what came before it is on the disk"
    assert [done for done, _, _ in told] == list(range(1, len(plan.actions) + 1))
    assert {name for _, _, name in told} == plan.writes()


def test_state_is_copied_several_files_at_a_time(goldens, root, tmp_path):
    taken = back_up(goldens["4.3.0/agg-hdfs"], root)
    state = sum(item.name.startswith("state/") for item in taken.objects)
    assert state % 2 == 0
    source, target = watched(root.location, threading.Barrier(2, timeout=300)), watched(str(tmp_path / "restored"))
    restore_module.restore(make_restore(source, taken, target), source, target, threads=2, accept_sink="unknown")
    assert sum(name.startswith("state/") for name in target.events) == state


# --- interrupted ----------------------------------------------------------------------------------------------------


def test_what_a_killed_restore_was_writing_is_cleared_away(goldens, root, tmp_path):
    taken = back_up(goldens["4.3.0/file-to-parquet-5"], root)
    target, place = Store.open(str(tmp_path / "restored")), tmp_path / "restored" / "offsets"
    place.mkdir(parents=True)
    (place / f".{taken.batch_id}.0b1f3a9c-0000-4000-8000-000000000001.tmp").write_bytes(b"half")
    restore_module.restore(make_restore(root, taken, target), root, target, accept_sink="unknown")
    assert set(target.find()) == {item.name for item in taken.objects}


@pytest.mark.parametrize("name", ["offsets/.9.tmp", "notes.txt", ".x.0b1f3a9c-0000-4000-8000-000000000001.tmp"])
def test_what_is_not_of_the_restore_is_never_touched(goldens, root, tmp_path, name):
    taken = back_up(goldens["4.3.0/file-to-parquet-5"], root)
    path = tmp_path / "restored" / name
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    with pytest.raises(ObjectExistsError, match="not empty"):
        make_restore(root, taken, Store.open(str(tmp_path / "restored")))
    assert path.read_text() == "mine"


def test_what_turns_out_damaged_while_it_is_restored_is_not_left_there(goldens, root, tmp_path):
    backup = back_up(goldens["4.3.0/agg-hdfs"], root)
    target = Store.open(str(tmp_path / "new"))
    plan = make_restore(root, backup, target)
    stored = next(item for item in backup.objects if item.name == "state/0/1/8.delta")
    root.write(stored.stored_at, bytes(reversed(root.read(stored.stored_at))))
    with pytest.raises(BackupCorruptError, match="is not what was backed up"):
        restore_module.restore(plan, root, target, threads=1, accept_sink="unknown")
    assert stored.name not in target.find()


@pytest.mark.parametrize("after", [False, True], ids=["refused", "answer lost"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.sweep
def test_a_restore_survives_a_fault_at_every_call(goldens, tmp_path, case, after):
    """After each fault Spark refuses what is there, or it is complete; the same restore then completes it."""
    every_call(goldens[f"4.3.0/{case}"], lambda name: Store.open(str(tmp_path / name)), after, sample=10)


@pytest.mark.s3
@pytest.mark.exhaustive
@pytest.mark.parametrize("after", [False, True] if EXHAUSTIVE else [True])
@pytest.mark.parametrize("case", CASES if EXHAUSTIVE else ["file-to-parquet-5"])
def test_a_restore_on_s3_survives_a_fault_at_every_call(goldens, s3_store, case, after):
    every_call(goldens[f"4.3.0/{case}"], s3_store, after, sample=1)


def every_call(home: Path, place: Callable[[str], Store], after: bool, *, sample: int) -> None:
    """Let storage calls of a restore fail, each in a round of its own: every one, or a sample and the last."""
    taken = back_up(home, place("backups"))

    def restore(target: str, fault: Fault) -> None:
        source, to = (over(place(name), fault) for name in ("backups", target))
        restore_module.restore(make_restore(source, taken, to, FORK_ID), source, to, accept_sink="unknown")

    counted = Fault()
    restore("reference", counted)
    wanted = without_schema_paths(place("reference"))
    calls = range(1, counted.calls + 1)
    for at in calls if EXHAUSTIVE else sorted({*calls[:: max(1, len(calls) // sample)], calls[-1]}):
        target = f"round-{at}"
        with pytest.raises(CheckpointError, match="injected"):
            restore(target, Fault(at, after=after))
        assert_refused_or_right(place(target), taken, at)
        restore(target, Fault())
        assert without_schema_paths(place(target)) == wanted, at
        assert_refused_or_right(place(target), taken, at, complete=True)


def without_schema_paths(store: Store) -> dict[str, bytes]:
    """What is there, but for the files that name the place itself."""
    return {name: b"" if "/_metadata/v2/" in name else data for name, data in contents(store).items()}


def over(store: Store, fault: Fault) -> FaultyStore:
    faulty = FaultyStore(store.fs, store.root, store.location)
    faulty.fault = fault
    return faulty


def assert_refused_or_right(target: Store, taken: Manifest, at: int, *, complete: bool = False) -> None:
    found = target.find()
    if not found and not complete:
        return
    foretold = forecast(examine(target, deep=True), DeploySpec())
    stops = foretold.spark_error is not None
    assert stops or foretold.resumes_at_batch == taken.batch_id + 1, f"fault {at}: {foretold.resumes_at_batch}"
    assert not (complete and stops), f"fault {at}: {foretold.spark_error}"
