"""Following the commit logs of a fleet: what is polled when, and what is found."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.batches.follow import Rhythm, Tail
from airflow_provider_ckpt.codec.checkpoint_offset import CheckpointPosition
from airflow_provider_ckpt.errors import StoreUnavailableError
from airflow_provider_ckpt.storage.store import Store
from tests.batches.fleet_story import STEP_MS, FleetStory


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
