"""What a salvage makes of one damage each: the batch, the steps, and what it tells."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.make_plan import make_anew
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.changes.salvage.make import SalvageRequest, make_salvage
from airflow_provider_ckpt.changes.sources.make import make_source_change
from airflow_provider_ckpt.changes.sources.source_change import parse_change
from airflow_provider_ckpt.errors import BatchNotRestorableError, CheckpointClosedError
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.storage.store import Store
from tests.changes.salvage.damage import cut, drop, lose_rename

WORD = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": ("duplicated", "skipped", "unknown")}
KAFKA = Sink("kafka")


def stores_of(path, root=None) -> Stores:
    return Stores(Store.open(str(path)), backups=Store.open(str(root)) if root else None)


def steps(plan) -> list[tuple[str, str]]:
    return [(action.do, action.name) for action in plan.actions]


def test_nothing_is_needed_where_spark_starts(golden):
    plan = make_salvage(stores_of(golden("agg-hdfs")), sink=KAFKA)
    assert (plan.batch_id, plan.actions, plan.sink_effect) == (7, (), "exact")


def test_a_batch_in_flight_stays_as_it_is(golden):
    path = golden("agg-hdfs")
    drop(path / "commits/7")
    assert make_salvage(stores_of(path)).actions == ()


@pytest.mark.parametrize(
    "names", [["state/0/0/8.delta"], ["commits/7", "offsets/7"], ["sources/0/5"], ["metadata"], ["state/0/1/8.delta"]]
)
def test_what_lost_its_rename_is_put_under_its_name(names, golden):
    path = golden("agg-hdfs")
    whole = {name: (path / name).read_bytes() for name in names}
    for name in names:
        lose_rename(path / name)
    stores = stores_of(path)
    plan = make_salvage(stores, sink=KAFKA)
    assert plan.batch_id == 7
    assert steps(plan)[1:-1] == [("copy", name) for name in sorted(names)]
    assert [plan.actions[0].do, plan.actions[-1].do] == ["close", "open"]
    apply(plan, stores, **WORD)
    assert {name: (path / name).read_bytes() for name in names} == whole
    assert make_salvage(stores).actions == ()


UNSURE = {
    "cut": lambda path: cut(lose_rename(path)),
    "two that differ": lambda path: (
        shutil.copy(path.with_name("6.delta"), path.with_name(f".{path.name}.{'4' * 8}-4444-4444-4444-{'4' * 12}.tmp")),
        lose_rename(path),
    ),
    "of an earlier run": lambda path: os.utime(lose_rename(path), (1, 1)),
    "other than the checksum file that it left": lambda path: (
        shutil.copy(path.with_name("6.delta"), path.with_name(f".{path.name}.{'4' * 8}-4444-4444-4444-{'4' * 12}.tmp"))
        and path.unlink()
    ),
}


@pytest.mark.parametrize("damage", UNSURE.values(), ids=UNSURE)
def test_a_temporary_file_that_is_not_surely_the_file_is_left(damage, golden):
    path = golden("agg-hdfs")
    damage(path / "state/0/0/8.delta")
    plan = make_salvage(stores_of(path))
    assert plan.batch_id == 6
    assert any(note.startswith("Batch 7 cannot be saved: state/0/0/8.delta is missing, and") for note in plan.notes)


def test_two_temporary_files_are_compared_with_each_other_as_well(golden):
    path = golden("file-to-parquet-5")
    temporary = lose_rename(path / "offsets/3")
    other = lose_rename(path / "offsets/4")
    at = other.stat().st_mtime
    other.write_bytes(temporary.read_bytes())
    os.utime(other, (at, at))
    other.with_name(f".{other.name}.crc").unlink()
    plan = make_salvage(stores_of(path))
    assert (plan.batch_id, [name for do, name in steps(plan) if do == "copy"]) == (3, ["offsets/3"])
    assert "is there under a temporary name and has the content of offsets/" in " ".join(plan.notes)


def test_damaged_state_of_the_newest_batch_is_computed_again_with_the_same_offsets(golden):
    path = golden("agg-hdfs")
    drop(path / "state/0/0/8.delta")
    plan = make_salvage(stores_of(path), sink=KAFKA)
    assert plan.batch_id == 6
    assert "offsets/7" not in plan.deletes()
    assert {"commits/7", "state/0/1/8.delta"} <= plan.deletes()
    assert plan.sink_effect == "duplicated", "Kafka does not know the batch again"
    assert make_salvage(stores_of(path), sink=Sink("noop")).sink_effect == "exact"


def test_the_undo_leaves_the_batch_alone_that_runs_again(golden):
    path = golden("agg-hdfs")
    drop(path / "state/0/0/8.delta")
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    stores = stores_of(path)
    apply(make_salvage(stores), stores, **WORD)
    apply(make_undo(stores), stores, **WORD)
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before


@pytest.mark.parametrize("lost", [["commits/7"], ["commits/7", "state/0/0/8.delta"], ["offsets/7"]])
def test_what_was_put_under_its_name_can_be_taken_back(lost, golden):
    """A checksum file that has stayed at the name is none of what the salvage did."""
    path = golden("agg-hdfs")
    for name in lost:
        temporary = lose_rename(path / name)
        temporary.with_name(f".{temporary.name}.crc").rename((path / name).with_name(f".{(path / name).name}.crc"))
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    stores = stores_of(path)
    apply(make_salvage(stores), stores, **WORD)
    apply(make_undo(stores), stores, **WORD)
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before


def test_lost_commits_are_told_by_the_next_entries(golden):
    path = golden("agg-hdfs")
    commit = (path / "commits/6").read_bytes()
    shutil.rmtree(path / "commits")
    stores = stores_of(path)
    plan = make_salvage(stores)
    assert (plan.batch_id, steps(plan)[1:-1]) == (6, [("create", "commits/6")])
    apply(plan, stores, **WORD)
    assert (path / "commits/6").read_bytes() == commit


def test_lost_commits_with_ids_are_not_made_up(golden):
    path = golden("agg-rocksdb-changelog-v2")
    drop(path / "commits/6")
    drop(path / "commits/7")
    assert make_salvage(stores_of(path)).batch_id == 5


def test_a_hole_in_the_offset_log_is_no_gap_of_async_progress(golden):
    path = golden("agg-rocksdb-changelog-v2")
    drop(path / "offsets/6")
    plan = make_salvage(stores_of(path))
    assert plan.batch_id == 5
    assert {"offsets/7", "commits/6"} <= plan.deletes()
    assert make_salvage(stores_of(golden("async-progress"))).actions == ()


def test_a_directory_in_the_place_of_a_file_goes_with_what_is_in_it(golden):
    path = golden("agg-hdfs")
    drop(path / "commits/7")
    (path / "commits/7").mkdir()
    (path / "commits/7/part").write_text("of another tool")
    stores = stores_of(path)
    plan = make_salvage(stores)
    assert steps(plan)[1:-1] == [("delete", "commits/7/part"), ("clear", "commits/7")]
    apply(plan, stores, **WORD)
    assert not (path / "commits/7").exists()
    assert apply(plan, stores, **WORD).status == "already_applied"
    apply(make_undo(stores), stores, **WORD)
    assert (path / "commits/7/part").read_text() == "of another tool"


def test_a_damaged_checksum_file_goes_and_one_that_differs_is_believed(golden):
    path = golden("agg-rocksdb")
    (path / "state/0/0/.8.zip.crc").write_bytes((path / "state/0/0/.8.zip.crc").read_bytes()[:8])
    plan = make_salvage(stores_of(path))
    assert (plan.batch_id, steps(plan)[1:-1]) == (7, [("delete", "state/0/0/.8.zip.crc")])
    shutil.copy(path / "state/0/0/.7.zip.crc", path / "state/0/0/.8.zip.crc")
    assert make_salvage(stores_of(path)).batch_id == 6


def test_a_schema_that_spark_does_without_goes(golden):
    path = golden("agg-hdfs")
    cut(path / "state/0/0/_metadata/schema")
    plan = make_salvage(stores_of(path))
    assert (plan.batch_id, plan.deletes()) == (
        7,
        {"state/0/0/_metadata/schema", "state/0/0/_metadata/.schema.crc"},
    )


def test_what_is_of_later_batches_goes_also_under_temporary_names(golden):
    path = golden("agg-hdfs")
    cut(path / "offsets/7")
    temporary = lose_rename(path / "state/0/0/8.delta")
    plan = make_salvage(stores_of(path))
    assert plan.batch_id == 6
    assert str(temporary.relative_to(path)) in plan.deletes()


@pytest.fixture
def backed_up(golden, tmp_path):
    """A checkpoint, and the root of a backup of its batch 5."""
    path = golden("agg-hdfs")
    stores = stores_of(path)
    apply(make_rollback(stores, 5), stores, **WORD)
    take_backup(stores.checkpoint, Store.open(str(tmp_path / "root")), threads=1)
    apply(make_undo(stores), stores, **WORD)
    shutil.rmtree(path.parent / "_ckpt_undo")  # which knows the query id
    return path, tmp_path / "root"


def test_a_file_of_a_backup_saves_a_later_batch(backed_up):
    path, root = backed_up
    for name in ("state/0/0/6.delta", "metadata"):
        drop(path / name)
    for version in (4, 5):
        (path / f"state/0/0/{version}.snapshot").unlink(missing_ok=True)
    with pytest.raises(BatchNotRestorableError, match="metadata is missing") as caught:
        make_salvage(stores_of(path))
    assert "--backup-root" in caught.value.hint
    stores = stores_of(path, root)
    plan = make_salvage(stores)
    assert plan.batch_id == 7
    assert plan.backup_id is not None
    assert ("copy", "metadata") in steps(plan)
    apply(plan, stores, **WORD)
    assert make_salvage(stores_of(path)).actions == ()


def test_a_table_of_a_backup_is_taken_before_its_zip_is_given_up(golden, tmp_path):
    path = golden("agg-rocksdb-v2")
    take_backup(Store.open(str(path)), Store.open(str(tmp_path / "root")), threads=1)
    tables = sorted(path.glob("state/0/1/SSTs/*.sst"))
    for table in tables:
        drop(table)
    plan = make_salvage(stores_of(path, tmp_path / "root"))
    assert plan.batch_id == 7
    assert {f"state/0/1/SSTs/{table.name}" for table in tables} & plan.writes()


def test_a_backup_of_another_history_brings_no_single_file(backed_up):
    path, root = backed_up
    for batch in (4, 5):
        entry = path / f"offsets/{batch}"
        entry.write_bytes(entry.read_bytes().replace(b'"batchTimestampMs":1', b'"batchTimestampMs":2'))
        entry.with_name(f".{batch}.crc").unlink()
    for name in ("state/0/0/6.delta", "state/0/0/7.delta"):
        drop(path / name)
    plan = make_salvage(stores_of(path, root))
    assert (plan.batch_id, plan.backup_id) == (4, None)


def test_a_batch_that_only_a_backup_has_is_exchanged(backed_up):
    path, root = backed_up
    for directory in ("offsets", "commits"):
        for batch in range(6):
            drop(path / directory / str(batch))
    drop(path / "state/0/0/8.delta")
    drop(path / "state/0/0/7.delta")
    plan, report = SalvageRequest(sink=KAFKA).with_report(stores_of(path, root))
    assert (plan.kind, plan.batch_id) == ("salvage", 5)
    assert report is not None
    assert (report.backup_id, report.given_up, sorted(report.not_saved)) == (plan.backup_id, (6, 7), [6, 7])
    assert {piece.way for piece in report.pieces} == {"backup"}


def test_the_query_id_is_taken_from_the_record_of_a_change(golden):
    path = golden("agg-hdfs")
    stores = stores_of(path)
    apply(make_rollback(stores, 6), stores, **WORD)
    drop(path / "metadata")
    plan = make_salvage(stores)
    apply(plan, stores, **WORD)
    assert json.loads((path / "metadata").read_text())["id"] == plan.query_id != ""


def test_the_offsets_of_a_committed_batch_from_a_temporary_file_have_an_unknown_effect(golden):
    path = golden("agg-hdfs")
    temporary = lose_rename(path / "offsets/7")
    assert make_salvage(stores_of(path), sink=KAFKA).sink_effect == "unknown"
    temporary.with_name(f".{temporary.name}.crc").rename(path / "offsets/.7.crc")
    assert make_salvage(stores_of(path), sink=KAFKA).sink_effect == "exact", "the checksum file is that of the entry"


def test_a_checkpoint_in_the_midst_of_another_change_is_refused(golden):
    path = golden("agg-hdfs")
    drop(path / "state/0/0/8.delta")
    stores = stores_of(path)
    plan = make_salvage(stores)
    assert make_anew(SalvageRequest.of(plan, stores), stores).actions == plan.actions
    with pytest.raises(KeyboardInterrupt):
        apply(plan, stores, on_step=_stop, **WORD)
    with pytest.raises(CheckpointClosedError):
        make_rollback(stores, 5)
    again, report = SalvageRequest().with_report(stores)
    assert (again.plan_id, report) == (plan.plan_id, None), "the same salvage is completed"
    apply(plan, stores, **WORD)
    assert make_salvage(stores).actions == ()


def _stop(done: int, total: int, name: str) -> None:
    if done == 3:
        raise KeyboardInterrupt


def test_nothing_to_save_says_why(golden):
    path = golden("agg-hdfs")
    shutil.rmtree(path / "offsets")
    with pytest.raises(BatchNotRestorableError, match="batch 7: offsets/6 is missing; batch 6") as caught:
        make_salvage(stores_of(path))
    assert "ckpt seed" in caught.value.hint


def test_a_change_of_sources_that_is_given_up_is_told(golden):
    """The entry of the batch before that which was changed has the sources of before."""
    path = golden("two-sources")
    stores = stores_of(path)
    change = make_source_change(stores, parse_change(["0=0", "1=1", "2=new"], []), sink=KAFKA)
    apply(change, stores, **WORD)
    assert make_salvage(stores, sink=KAFKA).warnings == ()
    drop(path / "offsets" / str(change.batch_id))
    plan = make_salvage(stores, sink=KAFKA)
    assert plan.batch_id < change.batch_id
    assert any(f"The change of sources {change.plan_id}" in warning for warning in plan.warnings)
