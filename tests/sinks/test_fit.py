"""Whether a declared sink can be that of the query: every legitimate case fits, every other is told why not."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.sink_marker import SinkCommit, SinkMarker
from airflow_provider_ckpt.sinks.fit import QueryBatches, misfit, misfit_of_backup


def files(latest: int | None) -> SinkMarker:
    """A file sink whose log ends with a batch."""
    return SinkMarker("file", "/lake/orders", last_batch=latest)


def table(kind: str, *held: int, last: int | None = None, undone: tuple[int, ...] = ()) -> SinkMarker:
    return SinkMarker(kind, "/lake/orders", "query-1", last, tuple(SinkCommit(str(at), at) for at in held), undone)


#: Committed up to batch 5 and planned so; and the same with batch 6 in flight.
IDLE, RUNNING = QueryBatches(5, 5), QueryBatches(5, 6)
ROLLED_BACK = QueryBatches(2, 2)

FITS = {
    "the newest batch is in the sink": (files(5), IDLE),
    "the batch in flight has not reached the sink": (files(5), RUNNING),
    "the batch in flight has reached the sink, and Spark stopped before its commit": (files(6), RUNNING),
    "the first batch is in flight, and the directory is still empty": (files(None), QueryBatches(None, 0)),
    "the first batch is in flight, and is in the sink": (files(0), QueryBatches(None, 0)),
    "the offset entry of the newest committed batch is lost": (files(5), QueryBatches(5, 4)),
    "a log whose older entries are compacted and deleted": (files(5), IDLE),
    "a table knows the query": (table("delta", 4, 5, last=5), IDLE),
    "a table was restored, marker and all": (table("iceberg", 1, 2, last=2), IDLE),
    "a table was restored to before the query": (table("iceberg", undone=(5, 4)), IDLE),
    "the marker of a table has expired, and its log still names the query": (table("delta", 4, 5), IDLE),
    "a table, and nothing is committed yet": (table("hudi"), QueryBatches(None, 0)),
    "a sink that remembers nothing": (SinkMarker("kafka", "orders"), IDLE),
    "no sink": (SinkMarker(""), IDLE),
}
DOES_NOT = {
    "a file sink that lacks the newest batch": (files(4), IDLE, "has batches up to 4, but the query has committed"),
    "a file sink that is ahead": (files(6), IDLE, "has batch 6, but the query has planned none after 5"),
    "far ahead, with a batch in flight": (files(57), RUNNING, "has batch 57"),
    "a directory without a log": (files(None), IDLE, "has no log of batches"),
    "a table that knows nothing of the query": (table("delta"), IDLE, "has no record of a batch of query-1"),
    "an Iceberg table of another query": (table("iceberg"), IDLE, "has no record of a batch of query-1"),
    "a Hudi table of another writer": (table("hudi"), IDLE, "has no record of a batch of query-1"),
}


@pytest.mark.parametrize(("marker", "now"), FITS.values(), ids=FITS)
def test_a_sink_of_the_query_fits(marker, now):
    assert misfit(marker, now) is None


@pytest.mark.parametrize(("marker", "now", "reason"), DOES_NOT.values(), ids=DOES_NOT)
def test_any_other_does_not_and_says_why(marker, now, reason):
    found = misfit(marker, now)
    assert found is not None and reason in found.reason and found.hint


def test_a_file_sink_is_ahead_after_a_rollback_that_did_not_trim_its_log():
    assert misfit(files(5), ROLLED_BACK, [IDLE]) is None, "before the rollback it fitted"
    assert misfit(files(5), ROLLED_BACK, known=True) is None, "it was declared before"
    assert misfit(files(5), ROLLED_BACK), "nothing explains it"
    assert misfit(files(9), ROLLED_BACK, [IDLE]), "it never fitted"
    assert misfit(files(3), ROLLED_BACK, [IDLE]), "it was behind before the rollback"


def test_a_sink_that_is_behind_is_refused_also_when_it_is_known():
    assert misfit(files(4), IDLE, known=True)


def test_a_backup_s_sink_has_its_batch_and_may_be_ahead():
    assert misfit_of_backup(files(5), 5) is misfit_of_backup(files(90), 5) is None
    assert misfit_of_backup(files(4), 5) and misfit_of_backup(files(None), 5) and misfit_of_backup(table("delta"), 5)
