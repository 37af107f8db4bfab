"""What a batch lacks, in words, and what it is made of."""

from __future__ import annotations

import shutil

import pytest

from airflow_provider_ckpt.changes.salvage.candidates import Candidate
from airflow_provider_ckpt.changes.salvage.plan import plan_salvage
from tests.changes.salvage.bench import put_together
from tests.changes.salvage.damage import cut, drop

LACKS = {
    ("agg-hdfs", "state/0/0/8.delta"): "state/0/0/8.delta is missing",
    ("agg-hdfs", "offsets/6"): "offsets/6 is missing",
    ("agg-hdfs", "commits/7"): "commits/7 is missing",
    ("agg-hdfs", "metadata"): "metadata is missing",
    ("file-to-parquet-12", "sources/0/9.compact"): "sources/0/9 is missing",
    ("agg-rocksdb", "state/0/0/8.zip"): "state/0/0/8.changelog is missing",
}


@pytest.mark.parametrize(("case", "name"), LACKS)
def test_what_is_missing_is_named(case, name, golden):
    path = golden(case)
    newest = max(int(file.name) for file in (path / "commits").glob("[0-9]*"))
    drop(path / name)
    said = put_together(path, Candidate(newest, newest))
    assert isinstance(said, str)
    assert said.startswith(LACKS[case, name])


def test_what_is_cut_is_named_with_the_reason(golden):
    path = golden("agg-hdfs")
    cut(path / "state/0/0/8.delta")
    assert "state/0/0/8.delta is a damaged or cut off lz4 stream" in str(put_together(path, Candidate(7, 7)))
    cut(path / "offsets/7")
    assert "offsets/7 cannot be read" in str(put_together(path, Candidate(7, 7)))


def test_a_broken_snapshot_goes_where_older_files_make_up_for_it(golden):
    path = golden("agg-hdfs")
    (snapshot,) = sorted(path.glob("state/0/0/*.snapshot"))
    cut(snapshot)
    found = put_together(path, Candidate(7, 7))
    assert found.tree.broken.keys() == {str(snapshot.relative_to(path))}
    assert not found.chosen.repaired


def test_an_entry_that_was_cut_between_two_sources_is_none(golden):
    path = golden("two-sources")
    entry = path / "offsets/3"
    entry.write_text(entry.read_text().rpartition("\n")[0])
    (path / "offsets/.3.crc").unlink()
    assert "offsets/3 has 1 sources, and the entry before it has 2" in str(put_together(path, Candidate(3, 3)))


def test_what_only_its_source_knows_must_be_whole(golden):
    path = golden("rate")
    cut(path / "sources/0/0")
    assert "only its source knows whether it needs it" in str(put_together(path, Candidate(3, 3)))


def test_what_an_operator_says_of_a_batch_must_be_whole(golden):
    path = golden("transform-with-state")
    (newest,) = sorted(path.glob("state/0/_metadata/v2/[0-9]*"))[-1:]
    later = newest.with_name("3")
    later.write_bytes(newest.read_bytes()[:20])
    assert "it names the schemas of its batch" in str(put_together(path, Candidate(4, 4)))


def test_what_the_forecast_speaks_against_is_none(golden):
    path = golden("agg-hdfs")
    entry = path / "offsets/7"
    entry.write_text(
        entry.read_text().replace('"spark.sql.shuffle.partitions":"2"', '"spark.sql.shuffle.partitions":"x"')
    )
    (path / "offsets/.7.crc").unlink()
    assert "CKPT" in str(put_together(path, Candidate(7, 7)))


def test_a_zip_without_its_table_goes_where_its_changelog_is_there(golden):
    path = golden("agg-rocksdb-changelog-v2")
    (zip_file,) = path.glob("state/0/0/[0-9]*.zip")
    version = int(zip_file.name.partition("_")[0])
    for table in path.glob("state/0/0/SSTs/*.sst"):
        drop(table)
    found = put_together(path, Candidate(version - 1, version - 1))
    assert str(zip_file.relative_to(path)) in found.tree.broken


def test_the_checksum_file_of_operator_metadata_goes_where_that_is_lost(golden):
    """Spark writes it again, and fails where the checksum file is there."""
    path = golden("agg-hdfs")
    (path / "state/0/_metadata/metadata").unlink()
    plan = plan_salvage(put_together(path, Candidate(7, 7)), 1)
    assert plan.deletes() == {"state/0/_metadata/.metadata.crc"}


@pytest.mark.parametrize("damage", [drop, cut])
def test_a_lost_partition_is_not_taken_for_one_that_never_was(damage, golden):
    """The schema says whether an aggregation has a key, and so whether it has more than one partition."""
    path = golden("agg-hdfs")
    shutil.rmtree(path / "state/0/1")
    damage(path / "state/0/0/_metadata/schema")
    assert "no other file says how many partitions the state has" in str(put_together(path, Candidate(7, 7)))
