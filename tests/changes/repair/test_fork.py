"""Of which batches nothing can be in the directory of a fork."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.changes.repair.data_file import DataFile
from airflow_provider_ckpt.changes.repair.fork import Fork
from airflow_provider_ckpt.changes.repair.lacking import LogContents
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.codec.source_log import SinkFileStatus

FORK = Fork(12, at_ms=1_000)
NAMED = (SinkFileStatus("file:///out/a.parquet", 1, False, 5, 1, 1, "add"),)


def contents(compacted: int = -1, base: tuple = (), **singles: tuple) -> LogContents:
    return LogContents(
        SinkLog("/out", {}), compacted, base, {int(batch[1:]): files for batch, files in singles.items()}
    )


def file_at(at_ms: int) -> DataFile:
    return DataFile("part-00000.parquet", 1, at_ms, 0, 0)


@pytest.mark.parametrize(
    ("log", "free", "expected"),
    [
        (contents(), (), 12),
        (contents(_9=(), _10=(), _13=NAMED), (), 12),
        (contents(9, ()), (), 12),
        (contents(19, NAMED), (), 12),  # which holds what the fork has written since
        (contents(9, NAMED), (), -1),
        (contents(_11=NAMED), (), -1),
        (contents(), (file_at(1_001),), 12),
        (contents(), (file_at(999),), -1),  # it may be of the original
    ],
)
def test_nothing_of_a_batch_before_the_fork_is_there_unless_the_log_or_a_file_says_so(log, free, expected):
    assert FORK.wrote_nothing_before(log, free) == expected


def test_without_a_time_no_file_is_taken_for_a_later_one():
    assert Fork(12, 0).wrote_nothing_before(contents(), (file_at(1_001),)) == -1
