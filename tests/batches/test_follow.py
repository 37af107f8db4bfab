"""Following the commit logs of a fleet: what is polled when, and what is found."""

from __future__ import annotations

import os
import shutil

import pytest

from airflow_provider_ckpt.batches.follow import RangeReading, Rhythm, Tail, read_range
from airflow_provider_ckpt.batches.positions import BatchRange
from airflow_provider_ckpt.batches.read_logs import one_after_the_other
from airflow_provider_ckpt.batches.rows import DELETED, PURGED, ROLLED_BACK
from airflow_provider_ckpt.codec.checkpoint_offset import CheckpointPosition
from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError, StoreUnavailableError
from airflow_provider_ckpt.storage.store import Store
from tests.batches.fleet_story import STEP_MS, FleetStory
from tests.fake_query import FIRST_MS, QUERY_ID


class Watched:
    """A tail of a story, which notes what it opens and when it searches."""

    def __init__(self, story: FleetStory) -> None:
        self.story, self.polled, self.discoveries, self.down = story, [], 0, set()
        self.positions: dict[str, CheckpointPosition] = {}
        self.tail = Tail(self.discover, self.open, Rhythm(10 * STEP_MS, 1_000, 100 * STEP_MS), lambda: story.now_ms)

    def discover(self, known):
        self.discoveries += 1
        found = [self.story.location(name) for name in self.story.logs]
        return [location for location in found if location not in known]

    def open(self, location):
        self.polled.append(location.rpartition("/")[2])
        if self.polled[-1] in self.down:
            raise StoreUnavailableError("does not answer", location=location)
        return Store.open(location)

    def step(self, most=None, **options):
        """One micro-batch: what was polled, and how far each checkpoint is then."""
        self.polled.clear()
        moved = self.tail.poll_due(self.positions, **options)
        taken = self.tail.take(most)
        self.positions |= moved | taken
        return {location.rpartition("/")[2]: at[:3] for location, at in {**moved, **taken}.items()}


@pytest.fixture
def story(tmp_path):
    story = FleetStory(tmp_path)
    story.commit("orders", 4)
    story.commit("clicks", 2)
    return story


def test_at_first_everything_that_is_there(story):
    watched = Watched(story)
    assert watched.step() == {"orders": (0, 0, 3), "clicks": (0, 0, 1)}
    assert watched.step() == {}


def test_a_checkpoint_is_polled_when_its_query_is_expected_to_commit(story):
    watched = Watched(story)
    watched.step()
    watched.step()
    assert watched.polled == []
    story.commit("clicks")  # a minute later
    assert watched.step() == {"clicks": (0, 0, 2)}
    assert "clicks" in watched.polled


def test_new_checkpoints_are_searched_for_now_and_then(story):
    watched = Watched(story)
    watched.step()
    story.commit("returns")
    assert "returns" not in watched.step()
    story.now_ms += 10 * STEP_MS
    assert watched.step()["returns"] == (0, 0, 0)
    assert watched.discoveries == 2


def test_a_limit_leaves_the_rest_for_the_next_time(story):
    watched = Watched(story)
    assert watched.step(most=3) == {"orders": (0, 0, 1), "clicks": (0, 0, 0)}
    assert watched.step(most=3) == {"orders": (0, 0, 3), "clicks": (0, 0, 1)}
    assert watched.step(most=3) == {}


def test_a_restart_goes_on_from_the_offset_alone(story):
    watched = Watched(story)
    watched.step(most=3)
    again = Watched(story)
    again.positions = dict(watched.positions)
    assert again.step() == {"orders": (0, 0, 3), "clicks": (0, 0, 1)}


def test_a_rollback_is_a_new_timeline_with_what_was_run_again(story):
    watched = Watched(story)
    watched.step()
    story.roll_back("orders", 1)
    assert watched.step(everywhere=True) == {"orders": (1, 2, 1)}
    story.commit("orders", 2)
    assert watched.step(everywhere=True) == {"orders": (1, 2, 3)}


def test_one_checkpoint_that_does_not_answer_holds_up_no_other(story, caplog):
    watched = Watched(story)
    watched.down = {"orders"}
    assert watched.step() == {"clicks": (0, 0, 1)}
    assert "orders: does not answer" in caplog.text
    watched.down = set()
    story.now_ms += STEP_MS
    assert watched.step()["orders"] == (0, 0, 3)


def test_one_that_does_not_answer_may_be_the_only_one_that_is_due(story):
    """It is polled again before the others are: that ends no stream over them."""
    watched = Watched(story)
    watched.down = {"orders"}
    watched.step()
    story.now_ms += 1_000
    assert watched.step() == {}
    assert watched.polled == ["orders"]
    story.commit("clicks")
    assert watched.step() == {"clicks": (0, 0, 2)}


def test_when_none_answers_that_is_an_error_of_the_first_poll_alone(story, caplog):
    watched = Watched(story)
    watched.down = {"orders", "clicks"}
    with pytest.raises(StoreUnavailableError):
        watched.step()
    again = Watched(story)
    again.step()
    again.down = {"orders", "clicks"}
    story.commit("clicks")
    assert again.step(everywhere=True) == {}
    assert "clicks: does not answer" in caplog.text
    again.down = set()
    story.now_ms += STEP_MS
    assert again.step() == {"clicks": (0, 0, 2)}


def test_a_root_that_cannot_be_listed_is_an_error_of_the_first_search_alone(story, caplog):
    """A service over a fleet goes on when the storage does."""
    watched = Watched(story)
    search, errors = watched.tail.discover, [StoreUnavailableError("is down", location="s3://fleet")]

    def discover(known):
        if errors:
            raise errors[0]
        return search(known)

    watched.tail.discover = discover
    with pytest.raises(StoreUnavailableError):
        watched.step()
    error = errors.pop()
    watched.step()
    errors.append(error)
    story.commit("returns")
    story.now_ms += 10 * STEP_MS
    assert watched.step() == {}
    assert "searched again later: s3://fleet: is down" in caplog.text
    errors.clear()
    story.now_ms += 10 * STEP_MS
    assert watched.step() == {"returns": (0, 0, 0)}


def test_a_clock_that_was_set_back_silences_nobody(story):
    """By its times every checkpoint would be due in some days only."""
    watched = Watched(story)
    story.now_ms += 3 * 1440 * STEP_MS
    watched.step()
    story.now_ms -= 3 * 1440 * STEP_MS
    story.commit("orders")
    story.commit("returns")
    assert watched.step() == {"orders": (0, 0, 4), "returns": (0, 0, 0)}
    watched.step()
    assert watched.polled == []


GO_ON = RangeReading({"0": "rate-micro-batch"}, fails_on_data_loss=False)


@pytest.fixture
def ranges_story(tmp_path):
    """Batches 0 to 5 committed, one a minute; 6 planned."""
    ranges_story = FleetStory(tmp_path)
    ranges_story.commit("orders", 6)
    ranges_story.plan("orders")
    return ranges_story


def wanted(ranges_story, first, last):
    """What a stream plans to read when nothing has happened since the first six commits."""
    return BatchRange(ranges_story.location("orders"), 0, first, last, FIRST_MS + STEP_MS * (last + 1))


def read(ranges_story, item, reading=GO_ON):
    store = Store.open(ranges_story.location("orders"))
    rows = list(read_range(store, item, reading, one_after_the_other(store)))
    return [(row.batch_id, row.problem) for row in rows], rows


def test_each_batch_once_with_what_it_read(ranges_story):
    batches, rows = read(ranges_story, wanted(ranges_story, 2, 5))
    assert batches == [(2, None), (3, None), (4, None), (5, None)]
    assert {(row.query_id, row.timeline, row.committed, row.source.total) for row in rows} == {(QUERY_ID, 0, True, 10)}


def test_it_is_the_same_when_more_has_come(ranges_story):
    before = read(ranges_story, wanted(ranges_story, 2, 4))[1]
    ranges_story.commit("orders", 3)
    assert read(ranges_story, wanted(ranges_story, 2, 4))[1] == before


def test_purged_batches_are_an_error_or_rows(ranges_story):
    ranges_story.purge("orders", keep=2)
    assert read(ranges_story, wanted(ranges_story, 2, 5))[0] == [(2, PURGED), (3, PURGED), (4, None), (5, None)]
    with pytest.raises(
        CheckpointError, match=r"orders: batches 2 to 3 were purged before the stream had read them\. Set"
    ):
        read(ranges_story, wanted(ranges_story, 2, 5), RangeReading({}, fails_on_data_loss=True))


def test_all_of_them_purged(ranges_story):
    ranges_story.commit("orders", 4)
    ranges_story.purge("orders", keep=2)
    assert read(ranges_story, wanted(ranges_story, 4, 5))[0] == [(4, PURGED), (5, PURGED)]


def test_batches_that_were_rolled_back_meanwhile_are_none_of_the_timeline(ranges_story):
    ranges_story.roll_back("orders", 3)
    assert read(ranges_story, wanted(ranges_story, 2, 5))[0] == [
        (2, None),
        (3, None),
        (4, ROLLED_BACK),
        (5, ROLLED_BACK),
    ]
    ranges_story.commit("orders", 3)  # 4, 5 and 6 again, on another timeline
    assert read(ranges_story, wanted(ranges_story, 2, 5))[0] == [
        (2, None),
        (3, None),
        (4, ROLLED_BACK),
        (5, ROLLED_BACK),
    ]


def test_a_checkpoint_that_was_deleted_meanwhile_is_an_error_or_rows(ranges_story):
    """Without the rows no later batch of the whole fleet could be read: Spark plans a micro-batch once."""
    shutil.rmtree(ranges_story.root / "orders")
    assert read(ranges_story, wanted(ranges_story, 4, 5))[0] == [(4, DELETED), (5, DELETED)]
    with pytest.raises(CheckpointNotFoundError, match="orders: the location does not exist"):
        read(ranges_story, wanted(ranges_story, 4, 5), RangeReading({}, fails_on_data_loss=True))


def commit_at(ranges_story, batch, at_ms):
    os.utime(ranges_story.root / "orders" / "commits" / str(batch), (at_ms / 1000, at_ms / 1000))


def test_a_clock_that_goes_back_hides_no_batch(ranges_story):
    """The last commit of the range is as it was, so those before it are, whatever their times."""
    commit_at(ranges_story, 3, FIRST_MS + 100 * STEP_MS)
    assert read(ranges_story, wanted(ranges_story, 2, 5))[0] == [(2, None), (3, None), (4, None), (5, None)]


def test_no_batch_is_left_out_when_the_last_is_gone_and_a_clock_goes_back(ranges_story):
    commit_at(ranges_story, 3, FIRST_MS + 100 * STEP_MS)
    commit_at(ranges_story, 5, FIRST_MS + 101 * STEP_MS)
    found = read(ranges_story, wanted(ranges_story, 2, 5))[0]
    assert found == [(2, None), (3, ROLLED_BACK), (4, ROLLED_BACK), (5, ROLLED_BACK)]


def test_a_gap_of_async_progress_tracking_is_no_loss(ranges_story):
    for log in ("offsets", "commits"):
        (ranges_story.root / "orders" / log / "3").unlink()
    reading = RangeReading({}, fails_on_data_loss=True)
    assert read(ranges_story, wanted(ranges_story, 2, 5), reading)[0] == [(2, None), (4, None), (5, None)]
    assert read(ranges_story, wanted(ranges_story, 3, 5), reading)[0] == [(4, None), (5, None)]


def test_a_damaged_entry_is_a_row_with_its_problem(ranges_story):
    (ranges_story.root / "orders" / "offsets" / "3").write_bytes(b"nonsense")
    (_, none), (_, problem), *_ = read(ranges_story, wanted(ranges_story, 2, 5))[0]
    assert none is None
    assert "orders/offsets/3: " in problem
