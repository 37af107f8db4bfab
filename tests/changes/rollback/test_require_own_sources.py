"""A rollback to before a change of sources is refused: undo comes first."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.goal import ToBackup
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.changes.sources.make import make_source_change
from airflow_provider_ckpt.changes.sources.source_change import parse_change
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.storage.store import Store

STOPPED: dict[str, Any] = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "skipped unknown"}


@pytest.fixture
def place(golden):
    """Batches 0 to 3, of which the last one is committed, with the sources swapped since; a copy of before beside it."""
    place = golden("two-sources")
    shutil.copytree(place, place.parent / "before")
    stores = Stores(Store.open(str(place)))
    apply(make_source_change(stores, parse_change(["0=1"], ["0"])), stores, **STOPPED)
    return place


@pytest.mark.parametrize("batch_id", [1, 2])
def test_a_batch_before_the_change_is_refused_and_can_be_had_after_an_undo(place, batch_id):
    stores = Stores(Store.open(str(place)))
    with pytest.raises(BatchNotRestorableError, match="the sources of the query were changed after batch 3") as refused:
        make_rollback(stores, batch_id)
    assert "ckpt undo" in (refused.value.hint or "")
    apply(make_undo(stores), stores, **STOPPED)
    assert make_rollback(stores, batch_id).actions


def test_the_batch_of_the_change_and_later_ones_can_be_had(place):
    for log, name in (("offsets", "4"), ("commits", "4")):
        shutil.copy(place / log / "3", place / log / name)
    stores = Stores(Store.open(str(place)))
    assert [action.name for action in make_rollback(stores, 3).actions] == ["commits/4", "offsets/4"]


def test_a_copy_of_before_that_was_put_in_its_place_is_not_concerned(place):
    shutil.rmtree(place)
    shutil.move(place.parent / "before", place)
    assert make_rollback(Stores(Store.open(str(place))), 2).actions


def test_a_backup_of_before_is_refused_as_well(golden, tmp_path):
    place, root = golden("two-sources"), Store.open(str(tmp_path / "backups"))
    for log in ("offsets", "commits"):
        shutil.move(place / log / "3", tmp_path / log)
    backup_id = take_backup(Store.open(str(place)), root).backup_id
    for log in ("offsets", "commits"):
        shutil.move(tmp_path / log, place / log / "3")
    stores = Stores(Store.open(str(place)), backups=root)
    apply(make_source_change(stores, parse_change(["0=1"], ["0"])), stores, **STOPPED)
    with pytest.raises(BatchNotRestorableError, match="sources of the query were changed"):
        make_rollback(stores, ToBackup(root.location, backup_id))


@pytest.mark.parametrize("said", [["0=1"], ["a=0", "b=1"]])
def test_without_the_record_the_entries_tell_it(golden, said):
    place = golden("two-sources")
    stores = Stores(Store.open(str(place)))
    change = parse_change(said, ["0"] if said == ["0=1"] else [])
    apply(make_source_change(stores, change), stores, **STOPPED)
    shutil.rmtree(place.parent / "_ckpt_undo")
    with pytest.raises(BatchNotRestorableError, match="the newest offset entry has version"):
        make_rollback(stores, 1)
    with pytest.raises(BatchNotRestorableError):
        make_rollback(stores, 0)
