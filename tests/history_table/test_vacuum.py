"""A vacuum deletes what nobody needs, and what readers or writers are at stays."""

from __future__ import annotations

import os

import pytest

from airflow_provider_ckpt import clock
from airflow_provider_ckpt.history_table.compact import compact
from airflow_provider_ckpt.history_table.manifest import GRACE_MS
from airflow_provider_ckpt.history_table.read import list_places, read_table
from airflow_provider_ckpt.history_table.rewind import rewind
from airflow_provider_ckpt.history_table.vacuum import vacuum
from airflow_provider_ckpt.storage.store import Store
from tests.history_table.labs import NOW_MS, data, epoch, rows, task

LATER_MS = NOW_MS + 1000 * GRACE_MS  # the files have the time of the machine


def test_orphans_go_and_rows_stay(tmp_path):
    table = Store.open(str(tmp_path))
    epoch(table, 0, 1)
    lost = task(table, [1]).files[0].name
    (tmp_path / "data/.half.parquet.3f.tmp").write_bytes(b"PAR1")
    assert vacuum(table, LATER_MS, dry_run=True).files == ("data/.half.parquet.3f.tmp", lost)
    assert lost in data(table)
    assert vacuum(table, LATER_MS).files == ("data/.half.parquet.3f.tmp", lost)
    assert data(table) == {file.name for file in read_table(table).files}
    assert rows(table) == [1]


def test_what_was_just_written_stays(tmp_path):
    table = Store.open(str(tmp_path))
    written = task(table, [1]).files[0]
    now_ms = table.stat(written.name).modified_ms
    assert vacuum(table, now_ms + GRACE_MS).files == ()
    assert vacuum(table, now_ms + GRACE_MS + 1).files == (written.name,)


def test_what_merging_replaced_stays_for_those_who_read_it(tmp_path, monkeypatch):
    monkeypatch.setattr(clock, "now_ms", lambda: NOW_MS)
    table = Store.open(str(tmp_path))
    for number in range(4):
        epoch(table, number, number)
    for file in data(table):
        os.utime(tmp_path / file, (1, 1))
    reader = read_table(table)
    compact(table, NOW_MS, least_epochs=2, kept_epochs=0)
    vacuum(table, NOW_MS + GRACE_MS)
    assert all(table.read(file.name) for file in reader.files)
    vacuum(table, NOW_MS + GRACE_MS + 1)
    assert data(table) == {file.name for file in read_table(table).files}
    assert [place.name for place in list_places(table)] == ["epochs/q/3.compact"]
    assert rows(table) == [0, 1, 2, 3]


def test_two_vacuums_at_once_do_not_mind_each_other(tmp_path):
    """What one has listed the other has deleted."""
    table = Store.open(str(tmp_path))
    for number in range(4):
        epoch(table, number, number)
    compact(table, NOW_MS, least_epochs=2, kept_epochs=0)
    places = table.find("epochs")
    vacuum(table, LATER_MS)

    class Late(Store):
        def find(self, directory=""):
            return places if directory == "epochs" else super().find(directory)

    vacuum(Late(table.fs, table.root, table.location), LATER_MS)
    assert rows(table) == [0, 1, 2, 3]


@pytest.mark.parametrize("way", ["out", "back"])
@pytest.mark.parametrize("after", range(1, 6))
def test_a_manifest_on_its_way_out_of_the_table_or_back_keeps_its_files(tmp_path, way, after):
    """Somebody moves it while a vacuum is between two of its listings."""
    table = Store.open(str(tmp_path))
    for number in range(3):
        epoch(table, number, number)
    kept, undone = data(table), tmp_path / "undone" / str(NOW_MS) / "epochs/q/2"
    if way == "back":
        rewind(table, "q", 1, NOW_MS)
    listed = []

    class Moving(Store):
        def find(self, directory=""):
            found = super().find(directory)
            listed.append(directory)
            if len(listed) == after and way == "out":
                rewind(table, "q", 1, NOW_MS)
            elif len(listed) == after:
                undone.rename(tmp_path / "epochs/q/2")
            return found

    assert vacuum(Moving(table.fs, table.root, table.location), LATER_MS).files == ()
    assert data(table) == kept
    assert len(listed) == 5 and undone.exists() == (way == "out")


def test_files_of_others_are_never_touched(tmp_path):
    table = Store.open(str(tmp_path))
    epoch(table, 0, 1)
    others = ["data/notes.txt", "data/more/a.parquet", "README", "epochs/q/notes"]
    for name in others:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")
        os.utime(tmp_path / name, (1, 1))
    assert vacuum(table, LATER_MS).files == ()
    assert all((tmp_path / name).exists() for name in others)
