"""A lag in few lines."""

from __future__ import annotations

from airflow_provider_ckpt.documents.positions import LagSummaryFields
from airflow_provider_ckpt.sources.lag import PartitionLag, SourceLag
from airflow_provider_ckpt.sources.lag_summary import MOST_NAMED, summary_of, worst_of
from tests.json_documents import problems

PARTS = tuple(PartitionLag("t", number, 0, 100, number, lost=7 if number == 3 else 0) for number in range(50))
KAFKA = SourceLag("0", "kafka", "offsets", sum(range(50)), PARTS)


def test_the_partitions_that_are_furthest_behind_are_named_and_the_others_counted():
    summary = summary_of(KAFKA)
    assert list(problems(summary, LagSummaryFields)) == []
    named = [part["partition"] for part in summary["partitions"]]
    assert named == [3, *range(49, 49 - MOST_NAMED + 1, -1)], "lost records come first"
    assert (summary["others"], summary["partition_count"], summary["lost"]) == (40, 50, 7)
    assert sum(part["unread"] for part in summary["partitions"]) + summary["others_unread"] == summary["total"]


def test_a_partition_that_is_not_behind_is_not_named():
    lag = SourceLag("0", "kafka", "offsets", 0, PARTS[:1])
    assert worst_of(lag) == ()
    assert (summary_of(lag)["others"], summary_of(lag)["others_unread"]) == (1, 0)


def test_tables_have_no_partitions():
    summary = summary_of(SourceLag("1", "delta", "versions", 2, files=5, size=900))
    assert (summary["total"], summary["bytes"], summary["partitions"], summary["next_batch"]) == (2, 900, [], None)
