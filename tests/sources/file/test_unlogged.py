"""Files that were read and that the log of a file sink does not name: taken out by a change, by retention, or not known."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec.source_log import FileEntry, SinkFileStatus
from airflow_provider_ckpt.sources.file.unlogged import Unlogged, unlogged


def taken(*times_ms: int, directory: str = "file:///out") -> list[FileEntry]:
    return [FileEntry(f"{directory}/{at_ms}.parquet", at_ms, entry) for entry, at_ms in enumerate(times_ms)]


def logged(*times_ms: int, action: str = "add") -> list[SinkFileStatus]:
    return [SinkFileStatus(f"file:/out/{at_ms}.parquet", 1, False, at_ms, 1, 1, action) for at_ms in times_ms]


@pytest.mark.parametrize(("read", "log", "found"), [
    (taken(10, 11, 12, 13), logged(10, 11), Unlogged((("12.parquet", 2), ("13.parquet", 3)))),
    (taken(10, 11), logged(10, 11, 12), Unlogged()),
    (taken(10, 11, 12, 13), logged(10, 11, 14, 15), Unlogged((("12.parquet", 2), ("13.parquet", 3)))),
    (taken(10, 11, 12, 13), logged(12, 13), Unlogged(expired=2)),
    (taken(10, 11, 12, 13), logged(11, 13), Unlogged((("12.parquet", 2),), 1)),
    (taken(10, 10), logged(), Unlogged(expired=1)),
    (taken(10, 11), [*logged(10, 11), *logged(11, action="delete")], Unlogged()),
    (taken(10, directory="file:///outside"), logged(10), None),
    ([], logged(10), None),
], ids=[
    "a change", "all named", "a change, and written again", "retention", "both", "an empty log", "deleted by the sink",
    "elsewhere", "nothing read",
])  # fmt: skip
def test_only_a_file_newer_than_one_that_is_named_was_taken_out_by_a_change(read, log, found):
    assert unlogged(read, log, "out") == found
