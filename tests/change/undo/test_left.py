"""What a change has left: which files are of it, which of another, and which have to be read to know."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.plan.actions import Delete
from airflow_provider_ckpt.change.plan.facts import Saved
from airflow_provider_ckpt.change.undo.left import find_present
from tests.change.undo.story import REMOVED, Story, rolled_back, written

SPOT = ("checkpoint", "offsets/3")


def test_what_nobody_has_touched_is_known_by_its_identity_and_not_read():
    after = Story().after()
    assert list(after.to_hash()) == []
    assert {action.name for action in find_present(after, {})} == set(REMOVED)


def test_what_was_removed_is_not_there():
    assert find_present(rolled_back().after(), {}) == frozenset()


@pytest.mark.parametrize(
    ("saved", "read"),
    {
        "the size is that of the saved one: its bytes decide": (Saved(9, "sha"), [SPOT]),
        "another size": (Saved(10, "sha"), []),
        "nothing was saved": (None, []),
    }.values(),
)
def test_only_what_its_size_does_not_rule_out_is_read(saved, read):
    story = rolled_back().write(written("offsets/3", "new"))
    del story.saved[SPOT]
    if saved is not None:
        story.saved[SPOT] = saved
    assert list(story.after().to_hash()) == read


@pytest.mark.parametrize(("sha256", "present"), [("sha", {"offsets/3"}), ("other", set())])
def test_the_bytes_say_whether_it_is_what_was_saved(sha256, present):
    story = rolled_back().write(written("offsets/3", "new"))
    story.saved[SPOT] = Saved(9, "sha")
    found = find_present(story.after(), {SPOT: sha256})
    assert {action.name for action in found} == present


def test_the_same_bytes_beside_a_batch_that_a_query_wrote_go_with_that_batch():
    story = rolled_back().write(written("offsets/3", "new")).write(written("commits/3", "again"))
    after = story.after()
    hashes = {spot: "other" if spot == SPOT else story.saved[spot].sha256 for spot in after.to_hash()}
    assert set(hashes) == {SPOT, ("checkpoint", "commits/3")}
    assert find_present(after, hashes) == frozenset()


def test_a_step_on_a_place_without_a_log_finds_nothing():
    after = Story().after()
    assert after.objects("sink") == {} and after.stored(Delete("3", "sink", 1, "etag")) is None
