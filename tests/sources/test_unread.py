"""What tables and directories hold that a query has not read, where no table format is needed to say so."""

from __future__ import annotations

import os

import pytest

from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.query.source import parse_asked
from airflow_provider_ckpt.sources.open_end import Access, open_table_end
from airflow_provider_ckpt.sources.unread import Unread
from airflow_provider_ckpt.storage.store import Store


@pytest.fixture
def unread(tmp_path):
    """What is unread of the directory ``in`` by a query that has read some of its files."""
    (tmp_path / "in").mkdir()
    log = tmp_path / "checkpoint/sources/0"
    log.mkdir(parents=True)

    def ask(read: list[str]) -> Unread:
        for number, name in enumerate(read):
            entry = f'{{"path":"file://{tmp_path}/in/{name}","timestamp":1000,"batchId":{number}}}'
            (log / str(number)).write_text(f"v1\n{entry}")
        access = Access(Store.open, Store.open(str(tmp_path / "checkpoint")))
        end = open_table_end(parse_asked(f"file:{tmp_path}/in"), "0", access)
        return end.unread_now(SourceOffset(f'{{"logOffset":{len(read) - 1}}}') if read else None)

    return ask


def test_files_that_are_in_no_batch_count_with_their_bytes(unread, tmp_path):
    for name, size, modified_s in (("a", 3, 1_000), ("b", 5, 2_000), ("c", 7, 3_000)):
        (tmp_path / "in" / name).write_bytes(b"x" * size)
        os.utime(tmp_path / "in" / name, (modified_s, modified_s))
    assert unread([]) == Unread("files", 3, 3, 15, 1_000_000)
    assert unread(["a"]) == Unread("files", 2, 2, 12, 2_000_000)
    assert unread(["a", "b", "c"]) == Unread("files", 0, 0, 0, None)
