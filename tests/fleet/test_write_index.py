"""Writing an index: whole, the latest wins, and nothing else in the directory is touched."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from airflow_provider_ckpt.backup.catalog import read_manifest
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.fleet import index, read_index, write_index
from airflow_provider_ckpt.fleet.find import find_checkpoints
from airflow_provider_ckpt.fleet.index import FleetIndex, IndexRow, LastBackup, decode
from airflow_provider_ckpt.fleet.judge import judge_checkpoints
from airflow_provider_ckpt.fleet.read_index import IndexReader, list_indexes
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.fleet.write_index import IndexWriter, put_index, read_last_backups
from airflow_provider_ckpt.query.query_parser import parse_query_file
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.limits import most_bytes
from tests.faults import Fault, FaultyStore
from tests.fleets import make_fleet

NOW_MS = 1_800_000_000_000


@pytest.fixture
def clock(monkeypatch):
    for module in (read_index, write_index):
        monkeypatch.setattr(module, "now_ms", lambda: NOW_MS)


def an_index(began_at_ms: int, location: str = "a") -> FleetIndex:
    return FleetIndex(began_at_ms, began_at_ms + 1, (), (IndexRow(location),))


def newest(store: Store) -> FleetIndex | None:
    return IndexReader().read(store)


def test_a_fleet_is_written_and_read(goldens, tmp_path):
    make_fleet(goldens["4.3.0/agg-hdfs"] / "checkpoint", tmp_path / "root", ["a", "b/c"])
    (tmp_path / "root" / "b" / "c" / "metadata").unlink()
    shutil.copy(goldens["4.3.0/agg-hdfs"] / "checkpoint" / "metadata", tmp_path / "root" / "a" / "metadata")
    root, store = Store.open(str(tmp_path / "root")), Store.open(str(tmp_path / "index"))
    backups = Store.open(str(tmp_path / "backups"))
    whole = Store.open(str(goldens["4.3.0/agg-hdfs"] / "checkpoint"))
    backup = take_backup(whole, backups)
    writer = IndexWriter(store, [root], [backups])
    rows = list(writer.taking(judge_checkpoints(find_checkpoints([root]))))
    written = writer.write()
    assert written == newest(store)
    assert [row.location for row in written.rows] == sorted(row.location for row in rows)
    first = written.rows[0]
    assert first.query_id == observe(whole).query_id
    assert (first.backup_id, first.backup_batch) == (backup.backup_id, backup.batch_id)
    assert written.rows[1].backup_id is None  # without metadata nobody knows of which query it is
    assert written.roots == (root.location,)
    assert list((tmp_path / "index").iterdir()) == [tmp_path / "index" / f"fleet-{written.began_at_ms:013d}.jsonl"]


def test_it_has_the_names_of_queries_and_the_thresholds_that_do_not_hold(tmp_path):
    text = (
        "format_version: 1\nqueries:\n  late: {checkpoint: 's3://lake/a', alert: {age: 5m, delay: 1h}}\n"
        "  fine: {checkpoint: 's3://lake/b', alert: {age: 1h}}"
    )
    writer = IndexWriter(Store.open(str(tmp_path)), [], file=parse_query_file(text))
    rows = [FleetRow(f"s3://lake/{name}", latest_committed_batch=7, last_commit_age_ms=600_000) for name in "abc"]
    assert list(writer.taking(rows)) == rows
    late, fine, other = writer.write().rows
    assert (fine.query, fine.alarms, other.query, other.alarms) == ("fine", None, None, None)
    assert (late.query, late.alarms) == ("late", "delay not known, at most 60 min; age 10 min, at most 5 min")


def test_an_older_index_never_replaces_a_newer_one(tmp_path, clock):
    store = Store.open(str(tmp_path))
    assert put_index(store, an_index(NOW_MS))
    assert not put_index(store, an_index(NOW_MS - 1))
    assert not put_index(store, an_index(NOW_MS, "of the same millisecond"))
    assert newest(store) == an_index(NOW_MS)


@pytest.mark.parametrize("seed", range(5))
def test_of_many_that_write_at_once_the_latest_wins_whole(tmp_path, clock, seed):
    times = [NOW_MS - number for number in range(12)]
    Random(seed).shuffle(times)
    with ThreadPoolExecutor(6) as pool:
        written = list(pool.map(lambda at_ms: put_index(Store.open(str(tmp_path)), an_index(at_ms, str(at_ms))), times))
    assert written[times.index(NOW_MS)]
    assert newest(Store.open(str(tmp_path))) == an_index(NOW_MS, str(NOW_MS))


def test_two_are_kept_and_nothing_else_is_touched(tmp_path, clock):
    store = Store.open(str(tmp_path))
    (tmp_path / "fleet-1.jsonl").write_text("not ours")
    (tmp_path / "notes.txt").write_text("theirs")
    for number in range(5):
        put_index(store, an_index(NOW_MS + number))
    assert list_indexes(store) == [f"fleet-{NOW_MS + number}.jsonl" for number in (3, 4)]
    assert {path.name for path in tmp_path.iterdir()} == {*list_indexes(store), "fleet-1.jsonl", "notes.txt"}


def test_an_index_of_a_clock_that_is_far_ahead_blocks_nobody(tmp_path, clock):
    store = Store.open(str(tmp_path))
    put_index(store, an_index(NOW_MS + 86_400_000))
    assert newest(store) is None
    assert put_index(store, an_index(NOW_MS))
    assert newest(store) == an_index(NOW_MS)


def test_whoever_reads_meanwhile_sees_a_whole_index(tmp_path, clock):
    """At each call at which a writer can be killed."""
    store = Store.open(str(tmp_path))
    put_index(store, an_index(NOW_MS))
    counting = Fault()
    put_index(FaultyStore.over(str(tmp_path), counting), an_index(NOW_MS + 1))
    for at in range(1, counting.calls + 1):
        for after in (False, True):
            began_at_ms = NOW_MS + 10 * at + after
            with pytest.raises(StoreError):
                put_index(FaultyStore.over(str(tmp_path), Fault(at, after=after)), an_index(began_at_ms))
            assert newest(store) is not None
    put_index(store, an_index(NOW_MS + 1_000))
    assert newest(store) == an_index(NOW_MS + 1_000)
    assert len(list_indexes(store)) == 2


def test_no_index_is_written_into_a_checkpoint(golden):
    checkpoint = golden("agg-hdfs")
    before = sorted(checkpoint.rglob("*"))
    with pytest.raises(StoreError, match="this is a checkpoint, where ckpt writes no index. Give a directory"):
        IndexWriter(Store.open(str(checkpoint)), [])
    assert sorted(checkpoint.rglob("*")) == before


def test_a_fleet_that_is_too_large_is_refused_before_the_rest_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(write_index, "MOST_ROWS", 2)
    writer, read = IndexWriter(Store.open(str(tmp_path)), []), []
    rows = (read.append(number) or FleetRow(str(number // 2)) for number in range(100))  # each of them twice
    with pytest.raises(
        StoreError, match="the index of this fleet has more than 2 checkpoints, which is all that an index holds. No"
    ):
        list(writer.taking(rows))
    assert read == [0, 1, 2, 3, 4] and not list(tmp_path.iterdir())


@pytest.mark.parametrize("when", ["while the rows come", "with the backups"])
def test_an_index_that_no_page_can_read_is_not_written(tmp_path, monkeypatch, when):
    rows = [FleetRow(f"/lake/{number}") for number in range(50)]
    whole = sum(len(index.line_of(index.index_row(row))) for row in rows)
    monkeypatch.setattr(write_index, "MOST_INDEX_BYTES", whole // 2 if when == "while the rows come" else whole)
    writer, taken = IndexWriter(Store.open(str(tmp_path)), []), []
    with pytest.raises(
        StoreError, match="the index of this fleet needs more than .*, which is all that a page reads. No"
    ):
        taken.extend(writer.taking(rows))
        writer.write()
    assert (len(taken) == len(rows)) == (when == "with the backups") and not list(tmp_path.iterdir())


def test_what_a_writer_takes_a_reader_reads():
    """The limit of both is one number."""
    assert most_bytes("fleet-1800000000000.jsonl") == index.MOST_INDEX_BYTES


def test_a_location_is_in_it_once_and_of_those_too_long_the_number(tmp_path):
    writer = IndexWriter(Store.open(str(tmp_path)), [])
    rows = [
        FleetRow("b"),
        FleetRow("a"),
        FleetRow("b", error="again"),
        *[FleetRow("c" * (index.MOST_LOCATION + 1))] * 2,
    ]
    assert list(writer.taking(rows)) == rows
    written = writer.write()
    assert (written.rows, written.left_out) == ((IndexRow("a"), IndexRow("b")), 1)
    assert newest(Store.open(str(tmp_path))) == written


def test_it_is_one_file_that_text_tools_can_read(tmp_path, clock):
    put_index(Store.open(str(tmp_path)), an_index(NOW_MS))
    (file,) = Path(tmp_path).iterdir()
    assert decode(file.read_bytes()) == an_index(NOW_MS)
    assert file.read_text().count("\n") == 2


class Counting(Store):
    """A store that remembers what is read."""

    reads: list[str]

    def read_up_to(self, name: str, most: int) -> bytes:
        self.reads.append(name)
        return super().read_up_to(name, most)


@pytest.fixture
def root(goldens, tmp_path):
    """A root with three backups of one query, the newest without a manifest that can be read, and one of another query."""
    store = Counting.open(str(tmp_path / "backups"))
    store.reads = []
    whole = Store.open(str(goldens["4.3.0/agg-hdfs"] / "checkpoint"))
    first = read_manifest(store, take_backup(whole, store).backup_id)
    for backup_id, changed in (
        ("20300101T000000.000Z-" + first.query_id[:8], {"created_at_ms": 5}),
        ("20300102T000000.000Z-" + first.query_id[:8], {"query_id": first.query_id[:8] + "-another"}),
    ):
        made = replace(first, backup_id=backup_id, **changed)
        store.write(f"{backup_id}/manifest.json", made.encode())
    store.write("20300103T000000.000Z-" + first.query_id[:8] + "/manifest.json", b"damaged")
    store.write("20300104T000000.000Z-" + first.query_id[:8] + "/data/x", b"of a backup that did not end")
    store.reads.clear()
    return store, first.query_id


def test_the_newest_that_can_be_read_counts(root):
    store, query_id = root
    another = query_id[:8] + "-another"
    found = read_last_backups([store], [query_id, another, "nobody"])
    assert found[query_id].backup_id.startswith("20300101")
    assert found[another].backup_id.startswith("20300102")
    assert found.keys() == {query_id, another}


def test_of_several_roots_the_newest_counts(root, goldens, tmp_path):
    store, query_id = root
    other = Store.open(str(tmp_path / "more"))
    backup = take_backup(Store.open(str(goldens["4.3.0/agg-hdfs"] / "checkpoint")), other)
    newest = LastBackup(backup.backup_id, backup.batch_id, backup.created_at_ms)
    assert read_last_backups([store, other], [query_id]) == {query_id: newest}  # that of 2030 was made at 5 ms
    assert read_last_backups([other, store], [query_id]) == {query_id: newest}


def test_for_a_query_without_backups_nothing_is_read(root):
    store, _ = root
    assert read_last_backups([store], ["nobody", ""]) == {}
    assert store.reads == []
