"""What a Delta table remembers: of tables that Spark wrote, and of tables that deltalake writes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from airflow_provider_ckpt.errors import StoreError
from tests.sinks.conftest import marker


def test_spark_marks_each_batch_with_the_query_id(marker_of):
    found = marker_of("delta", 2, "delta")
    assert found.last_batch == 5
    assert found.held_after(2) == (3, 4, 5)
    assert found.version_of(2) == "2"


def test_it_looks_back_no_further_than_it_must(marker_of):
    assert [commit.batch_id for commit in marker_of("delta", 3, "delta").commits] == [3, 4, 5]


def test_a_restore_by_spark_takes_the_rows_back_and_leaves_the_marker(marker_of):
    found = marker_of("delta-restored", 2, "delta")
    assert found.last_batch == 5, "delta-io/delta#1813"
    assert found.held_after(2) == ()
    assert set(found.undone) == {3, 4, 5}
    assert found.version_of(2) == "2"


def test_a_writer_in_foreach_batch_is_known_by_its_own_id(marker_of):
    found = marker_of("delta-txnappid", 2, "delta", "#txnAppId=orders")
    assert (found.last_batch, found.version_of(2)) == (5, "2")
    assert marker_of("delta-txnappid", 2, "delta").last_batch is None, "its query id is nothing to the table"


def write(path, batch: int | None, writer: str = "q", mode: str = "append", **options: str) -> None:
    marked = None if batch is None else CommitProperties(app_transactions=[Transaction(writer, batch)])
    write_deltalake(
        path, pa.table({"value": [batch or 0]}), mode=mode, commit_properties=marked, storage_options=options or None
    )


@pytest.fixture
def table(tmp_path) -> str:
    """Batches 0 to 5 at versions 0, 1, 2, 4, 5, 6; version 3 is somebody else's."""
    path = str(tmp_path / "table")
    for batch in (0, 1, 2, None, 3, 4, 5):
        write(path, batch)
    return path


def test_what_others_wrote_is_known_as_theirs(table):
    assert marker(f"delta:{table}", "q", 2).version_of(2) == "3", "what others wrote after batch 2 stays"
    found = marker(f"delta:{table}", "q", 1)
    assert [(commit.operation, commit.version) for commit in found.others_after(1)] == [("WRITE", "3")]


def test_the_newest_marker_counts_even_when_it_is_lower(table):
    restored = CommitProperties(app_transactions=[Transaction("q", 2)])
    DeltaTable(table).restore(3, commit_properties=restored)
    found = marker(f"delta:{table}", "q", 2)
    assert (found.last_batch, found.held_after(2), found.undone) == (2, (), (5, 4, 3))
    assert found.last_batch == DeltaTable(table).transaction_version("q")


def test_batches_that_were_written_again_after_a_restore_are_held(table):
    DeltaTable(table).restore(3, commit_properties=CommitProperties(app_transactions=[Transaction("q", 2)]))
    write(table, 3)
    found = marker(f"delta:{table}", "q", 2)
    assert (found.last_batch, found.held_after(2)) == (3, (3,))
    assert found.lost_up_to(5) == (4, 5)


def test_a_restore_of_a_restore_is_followed(table):
    DeltaTable(table).restore(1)
    DeltaTable(table).restore(6)
    assert marker(f"delta:{table}", "q", 2).held_after(2) == (3, 4, 5)


def clean_up(path: str) -> None:
    """Make a checkpoint of the log, add a commit of somebody else, and drop the older commits."""
    table = DeltaTable(path)
    table.create_checkpoint()
    write(path, None)
    for version in range(table.version() + 1):
        (Path(path) / "_delta_log" / f"{version:020}.json").unlink()


def test_a_marker_that_lives_on_in_a_checkpoint_of_the_log_alone_is_found(table):
    clean_up(table)
    found = marker(f"delta:{table}", "q", 2)
    assert found.last_batch == 5
    assert found.version_of(2) is None


def test_a_marker_that_the_table_lets_expire_is_forgotten_while_the_rows_stay(tmp_path):
    path = str(tmp_path / "table")
    retention = {"delta.setTransactionRetentionDuration": "interval 1 days"}
    for batch, last_updated_ms in ((2, None), (3, 0)):
        write_deltalake(
            path,
            pa.table({"value": [batch]}),
            mode="append",
            configuration=retention if batch == 2 else None,
            commit_properties=CommitProperties(app_transactions=[Transaction("q", batch, last_updated_ms)]),
        )
    found = marker(f"delta:{path}", "q", 2)
    assert (found.last_batch, found.held_after(2)) == (None, (3,))


def test_the_same_on_s3(s3_server, s3_store):
    """deltalake has other names for the options of S3."""
    options = {"key": "test", "secret": "test", "endpoint_url": s3_server}
    store = s3_store("orders")
    own = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_ENDPOINT_URL": s3_server,
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
        "AWS_S3_ALLOW_UNSAFE_RENAME": "true",
    }
    for batch in (0, 1, 2, 3):
        write(store.location, batch, **own)
    assert marker(f"delta:{store.location}", "q", 1, **options).held_after(1) == (2, 3)
    DeltaTable(store.location, storage_options=own).create_checkpoint()
    write(store.location, None, **own)
    for version in range(4):
        store.delete(f"_delta_log/{version:020}.json")
    assert marker(f"delta:{store.location}", "q", 1, **options).last_batch == 3


def test_another_directory_is_no_delta_table(tmp_path):
    with pytest.raises(StoreError, match="not a Delta table"):
        marker(f"delta:{tmp_path}", "q", 2)


@pytest.mark.parametrize("line", ['{"txn"', '{"txn":{"appId":"q"}}', '{"txn":null}', '{"commitInfo":3}'])
def test_a_damaged_log_is_an_error_that_names_the_version(tmp_path, line):
    log = tmp_path / "_delta_log"
    log.mkdir()
    (log / f"{0:020}.json").write_text(line)
    with pytest.raises(StoreError, match="version 0"):
        marker(f"delta:{tmp_path}", "q", 2)
