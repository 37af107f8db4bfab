"""Each query of a fleet goes back to its one bookmark; what cannot be told for sure is refused, and never left out."""

from __future__ import annotations

import posixpath
from collections.abc import Hashable
from typing import Any

import pytest

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet.bookmarks import KeptBookmark, Refusal, match_bookmarks


def kept(name: str, at: str | None = "", **changed: Any) -> KeptBookmark:
    """A bookmark in a file."""
    fields = {"query_id": f"id of {name}", "batch_id": 4, "offsets": {"0": "7"}, "batch_timestamp_ms": 1}
    location = f"s3://lake/{name}" if at == "" else at
    return KeptBookmark.of(f"{name}.json", {**fields, "location": location, **changed})


def place_of(location: str) -> Hashable:
    if "://" not in location:
        raise CheckpointError("no driver is known", hint="Give a URL.")
    return posixpath.normpath(location.partition("://")[2])


def locations(found: Any) -> list[str]:
    return [query["checkpoint"] for query in found.queries]


def test_every_query_with_a_bookmark_goes_back_when_none_is_named():
    found = match_bookmarks([kept("orders"), kept("clicks")], (), place_of)
    assert locations(found) == ["s3://lake/orders", "s3://lake/clicks"] and found.refused == ()
    assert [query["to_before_deploy"]["query_id"] for query in found.queries] == ["id of orders", "id of clicks"]


def test_those_that_are_named_alone_go_back_with_what_was_said_of_them():
    asked = [{"checkpoint": "s3a://lake/orders/", "sink": "kafka", "sources": None}]
    found = match_bookmarks([kept("orders"), kept("clicks")], asked, place_of)
    [query] = found.queries
    assert (query["checkpoint"], query["sink"], found.left_out) == ("s3a://lake/orders/", "kafka", 1)
    assert query.keys() == {"checkpoint", "sink", "to_before_deploy"} and query["to_before_deploy"]["batch_id"] == 4


@pytest.mark.parametrize("other", ["s3a://lake/orders", "s3://lake//orders/", "s3://lake/x/../orders"])
def test_one_checkpoint_by_two_spellings_is_one(other):
    found = match_bookmarks([kept("orders"), kept("orders", other)], (), place_of)
    assert locations(found) == ["s3://lake/orders"] and found.refused == ()
    found = match_bookmarks([kept("orders")], ["s3://lake/orders", other], place_of)
    assert locations(found) == ["s3://lake/orders"] and found.refused == ()


REFUSED = {
    "two bookmarks that differ": ([kept("a"), kept("a", batch_id=5)], (), "a.json, a.json. Keep the one"),
    "two of other offsets": ([kept("a"), kept("a", offsets={"0": "8"})], (), "more than one bookmark"),
    "two of another query": ([kept("a"), kept("a", query_id="x")], (), "more than one bookmark"),
    "a bookmark from nowhere": ([kept("a", None)], (), "does not say where its checkpoint is"),
    "a bookmark of no storage": ([kept("a", "lake")], (), "no driver is known. Give a URL."),
    "nothing": ([KeptBookmark.of("a", "")], (), "is not JSON"),
    "a part": ([KeptBookmark.of("a", '{"query_id": "a", "ba')], (), "is not JSON"),
    "something else": ([KeptBookmark.of("a", {"x": 1})], (), "it has the key 'x'"),
    "no bookmark of it": ([kept("b")], ["s3://lake/a"], "It has no bookmark"),
    "no storage": ([], ["lake"], "no driver is known"),
    "two wishes": (
        [kept("a")],
        ["s3://lake/a", {"checkpoint": "s3a://lake/a", "sink": "kafka"}],
        "s3://lake/a, s3a://",
    ),
    "its own that is none": ([kept("a")], [{"checkpoint": "s3://lake/a", "to_before_deploy": "[]"}], "not a bookmark"),
}


@pytest.mark.parametrize(("bookmarks", "asked", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_sure_is_refused_and_stops_no_other(bookmarks, asked, said):
    others = [*asked, "s3://lake/good"] if asked else ()
    found = match_bookmarks([*bookmarks, kept("good")], others, place_of)
    assert locations(found) == ["s3://lake/good"]
    [refused] = found.refused
    assert isinstance(refused, Refusal) and said in refused.reason and refused.what


def test_the_bookmark_beside_a_query_comes_before_those_that_were_found():
    own = kept("a", batch_id=2).bookmark
    found = match_bookmarks([kept("a")], [{"checkpoint": "s3://lake/a", "to_before_deploy": own.to_dict()}], place_of)
    assert found.queries[0]["to_before_deploy"]["batch_id"] == 2 and found.left_out == 0


def test_copies_of_a_query_are_not_told_apart():
    """A mount beside a bucket, or a restored copy: who rolls both back does it once too often, or to the wrong one."""
    found = match_bookmarks([kept("a"), kept("a", "s3://mount/a"), kept("b")], (), place_of)
    assert locations(found) == ["s3://lake/b"] and len(found.refused) == 2
    assert "2 of the checkpoints are of query id of a" in found.refused[0].reason


@pytest.mark.parametrize("item", [5, None, "", {}, {"checkpoint": ""}, {"checkpoint": 5}, ["s3://lake/a"]], ids=repr)
def test_what_is_no_query_is_an_error(item):
    with pytest.raises(CheckpointError, match="a query is a location, or a mapping with its checkpoint"):
        match_bookmarks([], [item], place_of)


def test_what_cannot_be_said_of_a_query_is_an_error():
    with pytest.raises(CheckpointError, match="and not 'accept_sink'"):
        match_bookmarks([], [{"checkpoint": "s3://lake/a", "accept_sink": "unknown"}], place_of)


def test_a_thousand_queries():
    found = match_bookmarks([kept(f"q{number}") for number in range(1_000)], (), place_of)
    assert len(found.queries) == 1_000 and not found.refused
