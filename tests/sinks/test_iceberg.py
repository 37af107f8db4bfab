"""What an Iceberg table remembers: of tables that Spark wrote, and of tables that pyiceberg writes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog

from airflow_provider_ckpt.errors import StoreError
from tests.sinks.conftest import marker

QUERY, EPOCH = "spark.sql.streaming.queryId", "spark.sql.streaming.epochId"


def test_spark_marks_each_snapshot_with_query_and_epoch(marker_of):
    found = marker_of("iceberg", 2, "iceberg")
    assert found.last_batch == 5
    assert [commit.batch_id for commit in found.commits] == [0, 1, 2, 3, 4, 5]
    assert found.version_of(2) == found.commits[2].version


def test_a_rollback_of_the_table_takes_the_marker_back(marker_of):
    found = marker_of("iceberg-rolled-back", 2, "iceberg")
    assert (found.last_batch, found.held_after(2), sorted(found.undone)) == (2, (), [3, 4, 5])


@pytest.fixture
def table(tmp_path):
    """A table of a catalog with batches 0, 1 and 2, and a commit of somebody else before the last."""
    catalog = InMemoryCatalog("memory", warehouse=f"file://{tmp_path}/warehouse")
    catalog.create_namespace("db")
    rows = pa.table({"value": [1]})
    table = catalog.create_table("db.orders", rows.schema)
    for batch in (0, 1, None, 2):
        table.append(rows, snapshot_properties={} if batch is None else {QUERY: "q", EPOCH: str(batch)})
    return table


def test_the_newest_metadata_file_of_a_catalog_table_is_read(table):
    found = marker(f"iceberg:{table.location()}", "q", 1)
    assert [commit.batch_id for commit in found.commits] == [0, 1, None, 2]
    assert found.version_of(1) == found.commits[2].version
    assert found.last_batch == 2


def test_a_metadata_file_can_be_named(table):
    older = table.metadata.metadata_log[-1].metadata_file
    assert marker(f"iceberg:{older}", "q", 1).last_batch == 1


def test_another_query_is_not_known(table):
    assert marker(f"iceberg:{table.location()}", "other", 1).last_batch is None


def test_an_expired_snapshot_ends_the_walk(table):
    first, second = table.metadata.snapshots[:2]
    table.maintenance.expire_snapshots().by_ids([first.snapshot_id, second.snapshot_id]).commit()
    found = marker(f"iceberg:{table.location()}", "q", 1)
    assert [commit.batch_id for commit in found.commits] == [None, 2]


def test_metadata_may_be_gzipped(table, tmp_path):
    data = Path(table.metadata_location.removeprefix("file://")).read_bytes()
    metadata = tmp_path / "zipped" / "metadata"
    metadata.mkdir(parents=True)
    (metadata / "00003-a.gz.metadata.json").write_bytes(gzip.compress(data))
    assert marker(f"iceberg:{tmp_path / 'zipped'}", "q", 1).last_batch == 2


def test_two_files_of_the_newest_version_are_not_chosen_between(tmp_path):
    metadata = tmp_path / "metadata"
    metadata.mkdir()
    for name in ("00003-a.metadata.json", "00003-b.metadata.json"):
        (metadata / name).write_text("{}")
    with pytest.raises(StoreError, match="2 metadata files of version 3"):
        marker(f"iceberg:{tmp_path}", "q", 1)


def test_another_directory_is_no_iceberg_table(tmp_path):
    with pytest.raises(StoreError, match="no metadata file"):
        marker(f"iceberg:{tmp_path}", "q", 1)


@pytest.mark.parametrize("text", ["", "{}", '{"format-version": 9}', "not json"])
def test_damaged_metadata_is_an_error_that_names_the_file(tmp_path, text):
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "v1.metadata.json").write_text(text)
    with pytest.raises(StoreError, match=r"v1\.metadata\.json"):
        marker(f"iceberg:{tmp_path}", "q", 1)
