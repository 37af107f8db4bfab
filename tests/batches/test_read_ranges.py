"""Reading the rows of a micro-batch."""

from __future__ import annotations

import os
import shutil

import pytest

from airflow_provider_ckpt.batches.positions import BatchRange
from airflow_provider_ckpt.batches.read_logs import one_after_the_other
from airflow_provider_ckpt.batches.read_ranges import RangeReading, read_range
from airflow_provider_ckpt.batches.rows import DELETED, PURGED, ROLLED_BACK
from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError
from airflow_provider_ckpt.storage.store import Store
from tests.batches.fleet_story import STEP_MS, FleetStory
from tests.fake_query import FIRST_MS, QUERY_ID

GO_ON = RangeReading({"0": "rate-micro-batch"}, fails_on_data_loss=False)


@pytest.fixture
def story(tmp_path):
    """Batches 0 to 5 committed, one a minute; 6 planned."""
    story = FleetStory(tmp_path)
    story.commit("orders", 6)
    story.plan("orders")
    return story


def wanted(story, first, last):
    """What a stream plans to read when nothing has happened since the first six commits."""
    return BatchRange(story.location("orders"), 0, first, last, FIRST_MS + STEP_MS * (last + 1))


def read(story, item, reading=GO_ON):
    store = Store.open(story.location("orders"))
    rows = list(read_range(store, item, reading, one_after_the_other(store)))
    return [(row.batch_id, row.problem) for row in rows], rows


def test_each_batch_once_with_what_it_read(story):
    batches, rows = read(story, wanted(story, 2, 5))
    assert batches == [(2, None), (3, None), (4, None), (5, None)]
    assert {(row.query_id, row.timeline, row.committed, row.source.total) for row in rows} == {(QUERY_ID, 0, True, 10)}


def test_it_is_the_same_when_more_has_come(story):
    before = read(story, wanted(story, 2, 4))[1]
    story.commit("orders", 3)
    assert read(story, wanted(story, 2, 4))[1] == before


def test_purged_batches_are_an_error_or_rows(story):
    story.purge("orders", keep=2)
    assert read(story, wanted(story, 2, 5))[0] == [(2, PURGED), (3, PURGED), (4, None), (5, None)]
    with pytest.raises(
        CheckpointError, match=r"orders: batches 2 to 3 were purged before the stream had read them\. Set"
    ):
        read(story, wanted(story, 2, 5), RangeReading({}, fails_on_data_loss=True))


def test_all_of_them_purged(story):
    story.commit("orders", 4)
    story.purge("orders", keep=2)
    assert read(story, wanted(story, 4, 5))[0] == [(4, PURGED), (5, PURGED)]


def test_batches_that_were_rolled_back_meanwhile_are_none_of_the_timeline(story):
    story.roll_back("orders", 3)
    assert read(story, wanted(story, 2, 5))[0] == [(2, None), (3, None), (4, ROLLED_BACK), (5, ROLLED_BACK)]
    story.commit("orders", 3)  # 4, 5 and 6 again, on another timeline
    assert read(story, wanted(story, 2, 5))[0] == [(2, None), (3, None), (4, ROLLED_BACK), (5, ROLLED_BACK)]


def test_a_checkpoint_that_was_deleted_meanwhile_is_an_error_or_rows(story):
    """Without the rows no later batch of the whole fleet could be read: Spark plans a micro-batch once."""
    shutil.rmtree(story.root / "orders")
    assert read(story, wanted(story, 4, 5))[0] == [(4, DELETED), (5, DELETED)]
    with pytest.raises(CheckpointNotFoundError, match="orders: the location does not exist"):
        read(story, wanted(story, 4, 5), RangeReading({}, fails_on_data_loss=True))


def commit_at(story, batch, at_ms):
    os.utime(story.root / "orders" / "commits" / str(batch), (at_ms / 1000, at_ms / 1000))


def test_a_clock_that_goes_back_hides_no_batch(story):
    """The last commit of the range is as it was, so those before it are, whatever their times."""
    commit_at(story, 3, FIRST_MS + 100 * STEP_MS)
    assert read(story, wanted(story, 2, 5))[0] == [(2, None), (3, None), (4, None), (5, None)]


def test_no_batch_is_left_out_when_the_last_is_gone_and_a_clock_goes_back(story):
    commit_at(story, 3, FIRST_MS + 100 * STEP_MS)
    commit_at(story, 5, FIRST_MS + 101 * STEP_MS)
    found = read(story, wanted(story, 2, 5))[0]
    assert found == [(2, None), (3, ROLLED_BACK), (4, ROLLED_BACK), (5, ROLLED_BACK)]


def test_a_gap_of_async_progress_tracking_is_no_loss(story):
    for log in ("offsets", "commits"):
        (story.root / "orders" / log / "3").unlink()
    reading = RangeReading({}, fails_on_data_loss=True)
    assert read(story, wanted(story, 2, 5), reading)[0] == [(2, None), (4, None), (5, None)]
    assert read(story, wanted(story, 3, 5), reading)[0] == [(4, None), (5, None)]


def test_a_damaged_entry_is_a_row_with_its_problem(story):
    (story.root / "orders" / "offsets" / "3").write_bytes(b"nonsense")
    (_, none), (_, problem), *_ = read(story, wanted(story, 2, 5))[0]
    assert none is None
    assert "orders/offsets/3: " in problem
