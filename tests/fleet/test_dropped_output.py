"""What is dropped of an output; ``test_find_readers.py`` has the checkpoints that have read it."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec.source_log import FileEntry, FileSourceLog
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.fleet.dropped_output import DroppedOutput

FILES = DroppedOutput(4, 4, "file:/out", files=frozenset({"bucket/out/a b.parquet"}))


def test_it_is_named_by_its_batches_and_its_sink():
    assert FILES.text == "what batch 4 wrote to file:/out"


@pytest.mark.parametrize("path", ["s3a://bucket/out/a%20b.parquet", "s3://bucket/out/a%20b.parquet"])
def test_a_file_is_the_same_by_whatever_driver_it_was_read(path):
    log = FileSourceLog((FileEntry("s3a://bucket/out/x", 1, 6), FileEntry(path, 1, 7)))
    assert FILES.took([log]) == 7
    assert FILES.took([FileSourceLog(log.entries[:1])]) is None


@pytest.mark.parametrize(
    ("offset", "taken", "is_read"),
    [('{"logOffset":7}', 7, True), ('{"logOffset":6}', 7, False), ("7", 7, True), ('{"t":{"0":1}}', 7, False), ('{"logOffset":7}', None, False), (None, 7, False)],
)  # fmt: skip
def test_a_file_source_is_past_the_entry_that_took_it(offset, taken, is_read):
    assert FILES.is_read_at(None if offset is None else SourceOffset(offset), taken) == is_read
