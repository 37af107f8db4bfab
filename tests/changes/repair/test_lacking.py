"""What a log lacks, and of which batches nothing tells then."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.changes.repair.lacking import Lacking, LogContents
from airflow_provider_ckpt.checkpoint.compaction import Shape
from airflow_provider_ckpt.codec.source_log import SinkFileStatus
from airflow_provider_ckpt.untrusted.spans import Span
from tests.views import sink_of


def status(path: str, action: str = "add") -> SinkFileStatus:
    return SinkFileStatus(path, 1, False, 1, 1, 1, action)


def lacking(compacted: int, singles: set[int], newest: int, *copied: str) -> Lacking:
    contents = LogContents(sink_of(), compacted, (status("base"),), {batch: (status(str(batch)),) for batch in singles})
    return Lacking(contents, Shape(4, newest), dict.fromkeys((f"_spark_metadata/{name}" for name in copied), b"v1"))


@pytest.mark.parametrize(
    ("compacted", "singles", "newest", "copied", "gone", "unknown"),
    [
        (-1, {0, 1, 2}, 2, (), [], []),
        (-1, {0, 2}, 2, (), [1], [Span(1, 1)]),
        (3, {4}, 6, (), [6, 5], [Span(5, 6)]),
        (-1, {0, 1, 2, 4}, 5, (), [5, 3], [Span(3, 3), Span(5, 5)]),
        (3, {4, 6, 8}, 8, (), [7], [Span(5, 5), Span(7, 7)]),
        (3, {4, 6, 8}, 8, ("7.compact",), [7], []),
        (3, {4, 6, 8}, 9, ("9",), [9, 7], [Span(5, 5), Span(7, 7)]),
    ],
)
def test_what_is_gone_and_of_what_nothing_tells(compacted, singles, newest, copied, gone, unknown):
    log = lacking(compacted, singles, newest, *copied)
    assert (log.lacking, log.unknown) == (gone, unknown)


def test_a_compacted_entry_is_all_before_it_in_order():
    log = lacking(3, {4, 6, 8}, 8)
    own = {5: [status("5"), status("x", "delete")], 7: [status("7")]}
    assert [file.path for file in log.up_to(7, own)] == ["base", "4", "5", "6", "7"]
    assert [file.path for file in log.contents.statuses] == ["base", "4", "6", "8"]
