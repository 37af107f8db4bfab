"""What a file sink remembers is the log in its output directory."""

from __future__ import annotations

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
