"""The storage fails at every call in turn: nothing is lost, the checkpoint is sound, and the same call completes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.catalog import find_backup, list_backups
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.backup.verify import verify_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.restore import restore as restore_module
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.errors import CheckpointError, PlanError
from airflow_provider_ckpt.storage.store import Store
from tests.faults import Fault, FaultyStore, calls_to_fail
from tests.soundness import assert_complete

CASES = ["file-to-parquet-12", "agg-hdfs", "agg-rocksdb-changelog-v2"]
KEEP = 4
#: How many calls of an action fail in turn by default.
SAMPLES = 3


def files(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def stores(checkpoint: Path, fault: Fault) -> Stores:
    return Stores(FaultyStore.over(str(checkpoint), fault))


def roll_back(checkpoint: Path, fault: Fault) -> None:
    places = stores(checkpoint, fault)
    apply(make_rollback(places, KEEP), places, query_is_stopped=True, quiet_s=0, accept_sink="unknown")


def undo(checkpoint: Path, fault: Fault) -> None:
    places = stores(checkpoint, fault)
    try:
        plan = make_undo(places)
    except PlanError as error:
        assert "no change that can be undone" in str(error)
        return
    apply(plan, places, query_is_stopped=True, quiet_s=0, accept_sink="unknown")


def every_call(
    tmp_path: Path, prepare: Callable[[Path], None], act: Callable[[Path, Fault], None], after: bool
) -> None:
    """Let every storage call of an action fail once; ``prepare`` makes the checkpoint that each round starts with."""
    reference = tmp_path / "reference" / "checkpoint"
    prepare(reference)
    counted = Fault()
    act(reference, counted)
    wanted = files(reference)
    assert counted.calls > 20
    for at in calls_to_fail(counted.calls, SAMPLES):
        checkpoint = tmp_path / "round" / "checkpoint"
        prepare(checkpoint)
        fault = Fault(at, after=after)
        try:
            act(checkpoint, fault)
        except CheckpointError as error:
            assert "injected" in str(error), f"call {at}: {error}"
        left = inspect(Store.open(str(checkpoint)), deep=True)
        assert [finding for finding in left if finding.severity == "error"] == [], f"after call {at}"
        assert_complete(Store.open(str(checkpoint)))
        act(checkpoint, Fault())
        assert files(checkpoint) == wanted, f"completed after call {at}"
        shutil.rmtree(checkpoint.parent)


@pytest.mark.parametrize("after", [False, True], ids=["refused", "answer lost"])
@pytest.mark.parametrize("case", CASES)
def test_rollback_survives_a_fault_at_every_call(goldens, tmp_path, case, after):
    source = goldens[f"4.3.0/{case}"] / "checkpoint"
    every_call(tmp_path, lambda target: shutil.copytree(source, target) and None, roll_back, after)


@pytest.mark.parametrize("after", [False, True], ids=["refused", "answer lost"])
@pytest.mark.parametrize("case", CASES)
def test_undo_survives_a_fault_at_every_call(goldens, tmp_path, case, after):
    source = goldens[f"4.3.0/{case}"] / "checkpoint"

    def rolled_back(target: Path) -> None:
        shutil.copytree(source, target)
        roll_back(target, Fault())

    every_call(tmp_path, rolled_back, undo, after)
    assert files(tmp_path / "reference" / "checkpoint") == files(source), "undo gives every byte back"


@pytest.mark.parametrize("after", [False, True], ids=["refused", "answer lost"])
@pytest.mark.parametrize("case", CASES)
def test_restore_survives_a_fault_at_every_call(goldens, tmp_path, case, after):
    root = str(tmp_path / "backups")
    taken = take_backup(Store.open(str(goldens[f"4.3.0/{case}"] / "checkpoint")), Store.open(root))

    def restore(target: Path, fault: Fault) -> None:
        source, place = FaultyStore.over(root, fault), FaultyStore.over(str(target), fault)
        restore_module.restore(make_restore(source, taken, place), source, place, accept_sink="unknown")

    reference = tmp_path / "reference"
    counted = Fault()
    restore(reference, counted)
    for at in calls_to_fail(counted.calls, SAMPLES):
        target = tmp_path / f"round-{at}"
        with pytest.raises(CheckpointError, match="injected"):
            restore(target, Fault(at, after=after))
        restore(target, Fault())
        assert files(target) == files(reference), at


@pytest.mark.parametrize("after", [False, True], ids=["refused", "answer lost"])
@pytest.mark.parametrize("case", CASES)
def test_backup_survives_a_fault_at_every_call(goldens, tmp_path, case, after):
    """A backup that failed does not exist; the next one is whole, and the checkpoint was never written to."""
    checkpoint = goldens[f"4.3.0/{case}"] / "checkpoint"
    before, counted = files(checkpoint), Fault()

    def back_up(root: Path, fault: Fault) -> None:
        take_backup(FaultyStore.over(str(checkpoint), fault), FaultyStore.over(str(root), fault), threads=1)

    back_up(tmp_path / "reference", counted)
    for at in calls_to_fail(counted.calls, SAMPLES):
        root = tmp_path / f"round-{at}"
        with pytest.raises(CheckpointError, match="injected"):
            back_up(root, Fault(at, after=after))
        for whole in list_backups(Store.open(str(root))):
            verify_backup(Store.open(str(root)), whole)
        back_up(root, Fault())
        verify_backup(Store.open(str(root)), find_backup(Store.open(str(root)), "latest"))
        shutil.rmtree(root)
    assert files(checkpoint) == before
