"""Finding the checkpoints that a query is about."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import CheckpointNotFoundError
from airflow_provider_ckpt.spark.discovery import discover
from airflow_provider_ckpt.spark.options import Places
from tests.batches.fleet_story import FleetStory


@pytest.fixture
def story(tmp_path):
    story = FleetStory(tmp_path)
    for name in ("orders", "clicks", "team/returns"):
        story.commit(name)
    return story


def names(story, places, known=()):
    return [location.removeprefix(f"{story.root}/") for location in discover(places, known)[0]]


def test_everything_below_the_roots_and_each_once(story):
    assert sorted(names(story, Places((str(story.root),)))) == ["clicks", "orders", "team/returns"]
    both = Places((str(story.root), story.location("orders")))
    assert sorted(names(story, both)) == ["clicks", "orders", "team/returns"]


def test_what_is_known_is_not_read_again(story):
    known = {story.location("orders"), story.location("clicks")}
    assert names(story, Places((str(story.root),)), known) == ["team/returns"]


def test_with_depth_0_the_roots_are_the_checkpoints(story):
    roots = (story.location("orders"), story.location("nothing"), story.location("orders") + "/")
    assert names(story, Places(roots, depth=0)) == ["orders", "nothing"]


def test_a_relative_root_is_absolute_for_whoever_reads_it(story, monkeypatch):
    """Executors work in another directory."""
    monkeypatch.chdir(story.root)
    assert names(story, Places(("orders",), depth=0)) == ["orders"]
    assert sorted(names(story, Places((".",)))) == ["clicks", "orders", "team/returns"]


def test_a_root_that_is_not_there_is_an_error(story):
    with pytest.raises(CheckpointNotFoundError, match="the location does not exist"):
        discover(Places((story.location("nothing"),)))
