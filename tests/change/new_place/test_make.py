"""Planning what is written to a new place: what was begun or done before is found first."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.catalog import find_backup
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.new_place.make import require_empty, require_free_place
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.journal import begin
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.errors import ObjectExistsError, PlanError
from airflow_provider_ckpt.storage.store import Store


def test_what_was_begun_is_gone_on_with(writing):
    plan = writing.make()
    begin(Stores(writing.target).record(plan.plan_id), plan, by="ann", at_ms=1, from_batch=None, number=1)
    assert writing.make() == plan


def test_what_was_done_is_found_whatever_its_query_has_written_since(writing):
    plan = writing.make()
    writing.write(plan)
    writing.target.write("offsets/77", b"of the query")
    assert writing.make() == plan


def test_anything_else_at_the_location_is_refused(writing):
    writing.target.write("note.txt", b"mine")
    with pytest.raises(ObjectExistsError, match=f"Give a new or empty location; a {writing.kind} never overwrites"):
        writing.make()


@pytest.mark.parametrize(
    "inside", ["_ckpt_undo/orders", "out/_spark_metadata/x", "table/_delta_log", "table/.hoodie/x"]
)
def test_no_checkpoint_is_written_into_records_or_into_the_log_of_a_sink(inside):
    with pytest.raises(PlanError, match="a checkpoint must not be"):
        require_free_place(f"s3://lake/{inside}")


def test_a_place_whose_name_only_begins_like_one_is_free():
    require_free_place("s3://lake/_ckpt_undo_2/orders_spark_metadata")


#: How a store on a local disk calls offsets/3 while it writes it.
UNFINISHED = "offsets/.3.0b1f3a9c-0000-4000-8000-000000000001.tmp"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "target"


@pytest.fixture
def root(goldens, tmp_path: Path) -> Store:
    root = Store.open(str(tmp_path / "backups"))
    take_backup(Store.open(str(goldens["4.3.0/file-to-parquet-5"] / "checkpoint")), root)
    return root


@pytest.fixture
def plan(root: Store, target: Path) -> Plan:
    return make_restore(root, find_backup(root, "latest"), Store.open(str(target)))


def require(plan: Plan, location: Path) -> None:
    store = Store.open(str(location))
    require_empty(plan, store, store.find())


def write(location: Path, name: str, data: bytes) -> None:
    file = location / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


@pytest.mark.parametrize("made", [False, True], ids=["not there", "empty directory"])
def test_a_location_without_files_is_free(plan, target, made):
    if made:
        target.mkdir()
    require(plan, target)


def test_what_this_restore_has_written_is_its_own(plan, root, target):
    restore(plan, root, Store.open(str(target)), accept_sink="unknown")
    require(plan, target)


def test_what_it_was_writing_when_it_was_killed_is_its_own(plan, target):
    write(target, UNFINISHED, b"v1")
    require(plan, target)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("offsets/3", b"another content"),
        ("notes.txt", b""),
        ("offsets/.notes.0b1f3a9c-0000-4000-8000-000000000001.tmp", b"of no file of the backup"),
    ],
)
def test_anything_else_is_refused_by_name(plan, target, name, data):
    write(target, name, data)
    with pytest.raises(ObjectExistsError) as caught:
        require(plan, target)
    assert caught.value.name == name


def test_a_link_at_a_name_of_the_backup_is_refused(plan, root, target, tmp_path):
    restore(plan, root, Store.open(str(target)), accept_sink="unknown")
    (target / "metadata").rename(tmp_path / "elsewhere")
    (target / "metadata").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ObjectExistsError):
        require(plan, target)


def test_a_link_that_leads_nowhere_is_refused(plan, target, tmp_path):
    target.symlink_to(tmp_path / "gone")
    with pytest.raises(PlanError, match="does not exist"):
        require(plan, target)
