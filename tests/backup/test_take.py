"""Backups that build on earlier ones: what is referred to, what is copied, and what happens when a base goes."""

from __future__ import annotations

import json
import os
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup import copier, declare, manifest
from airflow_provider_ckpt.backup.catalog import find_backup, list_backups
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.backup.verify import verify_backup
from airflow_provider_ckpt.errors import BackupCorruptError, BatchNotRestorableError, CheckpointBusyError
from airflow_provider_ckpt.storage.store import Store
from tests.backup_lab import Query, assert_whole, files, unnamed
from tests.state_streams import delta_of_size

STATEFUL = ["agg-hdfs", "agg-rocksdb", "agg-rocksdb-changelog-v2", "join-rocksdb-v2"]


@pytest.fixture
def query(goldens, tmp_path) -> Callable[[str], Query]:
    return lambda case, name="checkpoint": Query(goldens[f"4.3.0/{case}"] / "checkpoint", tmp_path / name)


@pytest.fixture
def root(tmp_path) -> Store:
    return Store.open(str(tmp_path / "backups"))


def own(taken: manifest.Manifest) -> list[str]:
    return [item.name for item in taken.objects if item.stored_at.startswith(taken.backup_id)]


def is_log(name: str) -> bool:
    return name.partition("/")[0] in ("offsets", "commits", "metadata") and not name.endswith(".crc")


class Watched(Store):
    """Counts the listings of each directory, and tells a listener what is about to be written."""

    def ls(self, directory="", **options):
        self.listed[directory] += 1
        return super().ls(directory, **options)

    def write(self, name, data):
        super().write(name, data)
        self.on_write(name)


def watched(store: Store, on_write: Callable[[str], None] = lambda name: None) -> Watched:
    found = Watched.open(store.location)
    found.listed, found.on_write = Counter(), on_write
    return found


@pytest.mark.parametrize("case", [*STATEFUL, "file-to-parquet-12"])
def test_an_unchanged_second_backup_copies_the_log_entries_alone(query, root, case):
    orders = query(case)
    first, second = orders.back_up(root), orders.back_up(root)
    assert all(map(is_log, own(second)))
    assert second.own_bytes + second.reused_bytes == second.total_bytes == first.total_bytes == first.own_bytes
    assert second.own_bytes == sum(item.size for item in second.objects if is_log(item.name))
    assert [(item.name, item.sha256) for item in first.objects] == [(item.name, item.sha256) for item in second.objects]
    assert_whole(root)
    assert not unnamed(root), "no intent is left"


def test_a_backup_that_finished_in_the_same_millisecond_keeps_its_directory(query, root, monkeypatch):
    monkeypatch.setattr(declare, "now_ms", lambda: 1_767_225_600_000)
    first = query("agg-hdfs").back_up(root)
    before = {name: root.read(name) for name in root.find()}
    at_ms, backup_id = declare.claim_id(root, (), first.query_id)  # the others were listed before that one was there
    assert (at_ms, backup_id) == (first.created_at_ms + 1, declare.new_backup_id(at_ms, first.query_id))
    root.delete(f"{backup_id}/intent.json")
    assert {name: root.read(name) for name in root.find()} == before


class Noted(Store):
    """Notes in which order things reach it."""

    def copy(self, name, to, to_name, **options):
        copied = super().copy(name, to, to_name, **options)
        to.events.append(to_name.rpartition("/checkpoint/")[2])
        return copied

    def create(self, name, data):
        self.events.append(name.rpartition("/")[2])
        super().create(name, data)

    def flush(self):
        self.events.append("flush")
        super().flush()


@pytest.mark.parametrize("unknown", [False, True])
def test_all_copies_are_on_the_disk_before_the_manifest_is_written(query, root, unknown):
    orders = query("agg-hdfs")
    if unknown:
        (orders.checkpoint / "notes").write_text("unknown")
    checkpoint, backups = Noted.open(orders.store.location), Noted.open(root.location)
    backups.events = []
    taken = take_backup(checkpoint, backups)
    events = backups.events[: backups.events.index("manifest.json")]
    assert {item.name for item in taken.objects} < set(events), "everything was copied"
    assert events[-1] == "flush"
    assert events.count("flush") == 1 + unknown, "and no disk was asked in vain"
    assert backups.events[-2:] == ["manifest.json", "flush"]


def test_the_disk_writes_what_was_copied_while_more_is_copied(query, root, monkeypatch):
    monkeypatch.setattr(copier, "WRITE_BYTES", 1_000)
    checkpoint, backups = Noted.open(query("agg-hdfs").store.location), Noted.open(root.location)
    backups.events = []
    copied = take_backup(checkpoint, backups, threads=1).own_bytes
    events = backups.events[: backups.events.index("manifest.json")]
    assert 2 < events.count("flush") <= copied / 1_000 + 1
    assert events[-1] == "flush"


class Reading(Store):
    """Notes which state files are read."""

    def read_up_to(self, name, most):
        self.seen += [name] if name.endswith(".delta") else []
        return super().read_up_to(name, most)


@pytest.mark.parametrize(("keep_up_to", "read_back"), [(1 << 20, False), (0, True)])
def test_small_state_files_are_judged_while_they_are_copied(query, root, monkeypatch, keep_up_to, read_back):
    monkeypatch.setattr(copier, "CHUNK_BYTES", keep_up_to)
    orders, backups = query("agg-hdfs"), Reading.open(root.location)
    backups.seen = []
    taken = take_backup(orders.store, backups, threads=1)
    deltas = [item.stored_at for item in taken.objects if item.name.endswith(".delta")]
    assert sorted(backups.seen) == (sorted(deltas) if read_back else [])
    assert taken.facts["judged"]


@pytest.mark.parametrize("checksums", [True, False])
@pytest.mark.parametrize("elsewhere", [True, False])
def test_a_file_that_is_broken_is_seen_wherever_it_is_copied_to(query, root, elsewhere, checksums):
    orders, place = query("agg-hdfs"), Store.open(f"memory://{uuid.uuid4()}") if elsewhere else root
    if not checksums:
        orders.drop_checksums()
    path = orders.checkpoint / "state/0/1/8.delta"
    data = path.read_bytes()
    path.write_bytes(data[:40] + bytes([data[40] ^ 255]) + data[41:])
    with pytest.raises(BatchNotRestorableError, match=r"state/0/1/8\.delta"):
        take_backup(orders.store, place, threads=1)
    assert not place.find()


@pytest.mark.parametrize("case", ["agg-hdfs", "agg-rocksdb-changelog-v2"])
def test_an_unchanged_second_backup_lists_each_directory_once(query, root, case):
    orders = query(case)
    orders.back_up(root)
    checkpoint, backups = watched(orders.store), watched(root)
    taken = take_backup(checkpoint, backups)
    state = {name: count for name, count in checkpoint.listed.items() if name.startswith("state/")}
    assert len(state) > 4 and set(state.values()) == {1}
    referred = {item.stored_at.rpartition("/")[0] for item in taken.objects if item.name.startswith("state/")}
    assert {backups.listed[directory] for directory in referred} == {1}


@pytest.mark.parametrize("case", STATEFUL)
def test_a_later_batch_copies_only_what_is_new(query, root, case):
    orders = query(case)
    first, second = orders.back_up(root, 3), orders.back_up(root, 4)
    known = {item.name for item in first.objects}
    assert (first.batch_id, second.batch_id) == (3, 4)
    assert {name for name in own(second) if not is_log(name)} == {
        item.name for item in second.objects if not is_log(item.name) and item.name not in known
    }
    assert_whole(root)
    for taken in (first, second):
        verify_backup(root, taken)


def test_references_lead_to_the_copy_however_old(query, root):
    orders = query("agg-hdfs")
    first = orders.back_up(root)
    orders.back_up(root)
    third = orders.back_up(root)
    assert {item.stored_at.partition("/")[0] for item in third.objects} == {first.backup_id, third.backup_id}


def in_place(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def renamed_with_the_same_time(path: Path, data: bytes) -> None:
    at = path.stat().st_mtime_ns
    other = path.with_suffix(".tmp")
    other.write_bytes(data)
    other.replace(path)
    os.utime(path, ns=(at, at))


@pytest.mark.parametrize("rewrite", [in_place, renamed_with_the_same_time])
def test_a_state_file_rewritten_under_its_name_is_copied(query, root, rewrite):
    orders = query("agg-hdfs")
    orders.drop_checksums()
    first = orders.back_up(root)
    name = next(item.name for item in first.objects if item.name.endswith(".delta"))
    path = orders.checkpoint / name
    rewrite(path, delta_of_size(path.stat().st_size))
    second = orders.back_up(root)
    assert [item for item in own(second) if not is_log(item)] == [name]
    contents = {item.stored_at: item.sha256 for taken in (first, second) for item in taken.objects if item.name == name}
    assert len(set(contents.values())) == 2
    assert_whole(root)


class Rewriting(Store):
    """Rewrites an object right after it was copied for the first time, with as many bytes."""

    def copy(self, name, target, to, **options):
        done = super().copy(name, target, to, **options)
        if name == self.victim:
            self.victim = ""
            self.write(name, self.rewritten(self.read(name)))
        return done


REWRITTEN: dict[str, Callable[[bytes], bytes]] = {
    "offsets/7": lambda data: data.replace(b'"batchTimestampMs":1', b'"batchTimestampMs":2'),
    "commits/7": lambda data: data.replace(b'"nextBatchWatermarkMs":1', b'"nextBatchWatermarkMs":2'),
    "state/0/1/8.delta": lambda data: delta_of_size(len(data)),
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_what_is_rewritten_right_after_it_was_copied_is_copied_again(query, root, name):
    """Another query runs batch 7 anew meanwhile: a backup holds files of one moment."""
    orders = query("agg-hdfs")
    orders.drop_checksums()
    checkpoint = Rewriting.open(orders.store.location)
    checkpoint.victim, checkpoint.rewritten = name, REWRITTEN[name]
    before = orders.store.read(name)
    taken = take_backup(checkpoint, root, threads=1)
    held = next(item for item in taken.objects if item.name == name)
    assert root.read(held.stored_at) == orders.store.read(name) != before


class Torn(Store):
    """Lists what was there before and after a moment at which a log entry was missing: a listing in pages does that."""

    def copy(self, name, target, to, **options):
        done = super().copy(name, target, to, **options)
        if name == self.victim:
            self.victim, self.missing = "", name
        return done

    def find(self, under=""):
        found = dict(super().find(under))
        if missing := self.missing:
            self.missing = ""
            del found[missing]
            self.write(missing, self.rewritten(self.read(missing)))
        return found


@pytest.mark.parametrize("name", ["offsets/7", "commits/7"])
def test_what_was_rolled_back_and_run_anew_while_it_was_listed_is_copied_again(query, root, name):
    """A page of the listing was read while the batch was gone, the next one after it was run anew."""
    orders = query("agg-hdfs")
    orders.drop_checksums()
    checkpoint = Torn.open(orders.store.location)
    checkpoint.victim, checkpoint.missing, checkpoint.rewritten = name, "", REWRITTEN[name]
    before = orders.store.read(name)
    taken = take_backup(checkpoint, root, threads=1)
    held = next(item for item in taken.objects if item.name == name)
    assert root.read(held.stored_at) == orders.store.read(name) != before


def test_a_full_backup_stands_alone(query, root, tmp_path):
    orders = query("agg-rocksdb")
    first, second = orders.back_up(root), orders.back_up(root, full=True)
    assert second.own_bytes == second.total_bytes == first.total_bytes and second.reused_bytes == 0
    inside = files(tmp_path / "backups" / second.backup_id / "checkpoint")
    assert inside == {item.name: (orders.checkpoint / item.name).read_bytes() for item in second.objects}


def test_a_query_builds_on_its_own_backups_of_the_same_place_alone(query, root, tmp_path):
    query("agg-hdfs", "here").back_up(root)
    moved = query("agg-hdfs", "there").back_up(root)
    assert moved.reused_bytes == 0
    renamed = (tmp_path / "there").rename(tmp_path / "elsewhere")
    assert take_backup(Store.open(str(renamed)), root).reused_bytes == 0, "the same files, another place"
    other = query("agg-rocksdb", "other").back_up(root)
    assert other.reused_bytes == 0


def test_a_base_that_cannot_be_read_is_none(query, root, tmp_path):
    orders = query("agg-hdfs")
    first, second = orders.back_up(root), orders.back_up(root)
    (tmp_path / "backups" / second.backup_id / "manifest.json").write_text("nonsense")
    third = take_backup(orders.store, root)
    assert {item.stored_at.partition("/")[0] for item in third.objects} == {first.backup_id, third.backup_id}


@pytest.mark.parametrize("case", ["agg-hdfs", "agg-rocksdb"])
def test_what_a_base_has_lost_is_copied(query, root, tmp_path, case):
    orders = query(case)
    first = orders.back_up(root)
    lost = [item for item in first.objects if item.name.endswith((".delta", ".zip"))]
    (tmp_path / "backups" / lost[0].stored_at).unlink()
    (tmp_path / "backups" / lost[1].stored_at).write_bytes(b"cut")
    second = orders.back_up(root)
    assert {lost[0].name, lost[1].name} <= set(own(second))
    verify_backup(root, second)


def test_a_base_that_goes_while_it_is_declared_is_none(query, root, tmp_path):
    """A prune that takes the manifest away at the last moment in which it may."""
    orders = query("agg-hdfs")
    first = orders.back_up(root)
    declared = []

    def on_write(name: str) -> None:
        if name.endswith("/intent.json") and json.loads(root.read(name))["base"]:
            declared.append(name)
            root.delete(f"{first.backup_id}/manifest.json")

    second = take_backup(orders.store, watched(root, on_write))
    assert len(declared) == 1 and second.reused_bytes == 0


def test_a_backup_that_was_taken_for_dead_gives_up(query, root):
    orders = query("agg-hdfs")

    def on_write(name: str) -> None:
        root.delete(name)

    with pytest.raises(CheckpointBusyError, match="grace period"):
        take_backup(orders.store, watched(root, on_write))
    assert list_backups(root) == ()


def test_tags_are_kept_in_the_manifest(query, root):
    taken = query("agg-hdfs").back_up(root, tags=["release", "a", "a"])
    assert taken.tags == ("a", "release") == find_backup(root, "latest").tags


@pytest.mark.parametrize("tags", ["release", [1], {"a": 1}])
def test_a_manifest_with_other_tags_is_none(query, root, tags):
    fields = json.loads(query("agg-hdfs").back_up(root).encode())
    fields["facts"]["tags"] = tags
    with pytest.raises(BackupCorruptError, match="tags"):
        manifest.decode(json.dumps(fields).encode(), "manifest.json")


def test_a_manifest_of_an_earlier_release_is_read_and_built_on(query, root, tmp_path):
    orders = query("agg-hdfs")
    first = orders.back_up(root)
    path = tmp_path / "backups" / first.backup_id / "manifest.json"
    fields = json.loads(path.read_text())
    del fields["facts"]["tags"]
    path.write_text(json.dumps(fields))
    assert find_backup(root, "latest").tags == ()
    assert orders.back_up(root).reused_bytes > 0
