"""What a file sink remembers is the log in its output directory."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.sink_marker import format_of
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.sinks.file import read_trimmed
from airflow_provider_ckpt.storage.store import Store
from tests.sinks.conftest import marker


def test_entries_and_compacted_entries_are_its_batches(tmp_path):
    log = tmp_path / "_spark_metadata"
    log.mkdir()
    for name in ("8", "9.compact", "10", ".10.crc", "11.tmp"):
        (log / name).write_text("v1")
    found = marker(f"file:{tmp_path}", "any", 9)
    assert found.last_batch == 10
    assert found.held_after(9) == (10,)
    assert found.writer == "", "it goes by its directory, whatever the query"


def test_a_directory_without_a_log_knows_nothing(tmp_path):
    found = marker(f"file:{tmp_path}", "any", 9)
    assert (found.last_batch, found.commits) == (None, ())


@pytest.mark.parametrize(
    ("broken", "batch_id", "is_read"),
    [("3", 5, True), ("3", 9, False), ("3", 10, False), ("7", 5, False), ("10", 5, False)],
)
def test_what_is_read_again_without_a_compacted_entry_has_to_be_whole(golden_home, broken, batch_id, is_read):
    """Entries 0 to 8 are in 9.compact, which readers read instead; a rollback to batch 5 removes it."""
    home = golden_home("file-to-parquet-12")
    (home / "output/_spark_metadata" / broken).write_text("\n")
    sink = Store.open(str(home / "output"))
    name = f"_spark_metadata/{broken}"
    assert list(read_trimmed(sink, batch_id).damaged) == ([name] if is_read else [])
    stores = Stores(Store.open(str(home / "checkpoint")), sink=sink)
    if not is_read:
        assert make_rollback(stores, batch_id, trim_sink_log=True).actions
        return
    with pytest.raises(BatchNotRestorableError, match=f"{name} cannot be read") as refused:
        make_rollback(stores, batch_id, trim_sink_log=True)
    assert (refused.value.name, refused.value.batch_id) == (name, batch_id)
    assert (home / "output/_spark_metadata/9.compact").exists()


@pytest.mark.parametrize(
    ("path", "format_"),
    [
        ("file:///out/part-00000-7f0c55e2-c000.snappy.parquet", "parquet"),
        ("file:///out/day=1/part-00000-7f0c55e2-c000.json.gz", "json"),
        ("file:///out.json/part-00000-7f0c55e2-c000.txt", "text"),
        ("file:///out/part-00000-7f0c55e2-c000.avro", None),
        ("", None),
    ],
)
def test_the_name_of_a_file_says_its_format(path, format_):
    assert format_of(path) == format_
