"""What a consumer group gets of a query's position."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec.offsets.kafka import to_json
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import MalformedEntryError, PlanError
from airflow_provider_ckpt.sources.kafka.extent import Extent
from airflow_provider_ckpt.sources.kafka.publication import (
    conflicts,
    group_of,
    is_of_another_query,
    is_ours,
    plan_publication,
)
from airflow_provider_ckpt.sources.position import Position


def position(offsets: dict, location: str = "s3://lake/checkpoints/orders/") -> Position:
    return Position(location, "7f0c", "0", 7, SourceOffset(to_json(offsets)))


def extent(partitions: dict) -> Extent:
    """Where each partition begins and ends."""
    ids = {topic: f"id of {topic}" for topic, _ in partitions}
    return Extent(
        ids, {at: low for at, (low, _) in partitions.items()}, {at: high for at, (_, high) in partitions.items()}
    )


@pytest.mark.parametrize(
    ("reached", "held", "published", "lag", "warnings"),
    [
        pytest.param({("t", 0): 4}, {("t", 0): (0, 9)}, {("t", 0): 4}, 5, [], id="between"),
        pytest.param({("t", 0): 0}, {("t", 0): (0, 0)}, {("t", 0): 0}, 0, [], id="never written to"),
        pytest.param({("t", 0): 9}, {("t", 0): (9, 9)}, {("t", 0): 9}, 0, [], id="all is read, and gone"),
        pytest.param(
            {("t", 0): 4}, {("t", 0): (6, 9)}, {("t", 0): 6}, 3,
            ["Partition t-0 begins at offset 6, after the position 4 of the query: records that it has not read are gone."],
            id="lost",
        ),
        pytest.param(
            {("t", 0): 4}, {("t", 0): (0, 4), ("t", 1): (0, 5), ("u", 0): (2, 3)},
            {("t", 0): 4, ("t", 1): 0, ("u", 0): 2}, 6,
            ["The query has not read partitions t-1, u-0 yet; Spark will begin with the earliest offset."],
            id="new partitions",
        ),
    ],
)  # fmt: skip
def test_every_partition_is_published(reached, held, published, lag, warnings):
    publication = plan_publication(position(reached), "g", extent(held))
    assert dict(publication.offsets) == published
    assert publication.lag == lag
    assert list(publication.warnings) == warnings
    assert publication.metadata == "ckpt batch 7 of query 7f0c"


@pytest.mark.parametrize(
    ("held", "problem"),
    [
        ({("t", 0): (0, 3), ("t", 1): (0, 9)}, "the query is at offset 4 of partition t-0, which ends at 3"),
        ({("t", 0): (0, 9)}, "the broker does not have partition t-1, which the query has read"),
        ({}, "the broker does not have partitions t-0, t-1, which the query has read"),
    ],
)
def test_a_position_that_is_not_there_is_refused(held, problem):
    with pytest.raises(PlanError, match=f"orders/offsets/7: {problem}: the topic was created again") as refused:
        plan_publication(position({("t", 0): 4, ("t", 1): 5}), "g", extent(held))
    assert refused.value.hint == "Nothing was published."


def test_another_source_is_refused():
    other = Position("s3://lake/orders", "", "0", 7, SourceOffset('{"logOffset":3}'))
    with pytest.raises(MalformedEntryError, match="not an offset of the source type kafka"):
        plan_publication(other, "g", extent({}))


@pytest.mark.parametrize(
    ("pattern", "group"),
    [("spark-orders", "spark-orders"), ("spark-{name}", "spark-orders"), ("{query_id}/{source_id}", "7f0c/0")],
)
def test_a_group_can_be_named_after_its_checkpoint(pattern, group):
    assert group_of(pattern, position({})) == group


@pytest.mark.parametrize("pattern", ["spark-{nmae}", "{name}-{nmae}", "{nmae}{}"])
def test_a_word_in_braces_that_nobody_knows_is_refused(pattern):
    with pytest.raises(PlanError, match=r"has \{nmae\} in its name, a word that ckpt does not know") as refused:
        group_of(pattern, position({}))
    assert "{name}, {query_id}, {source_id}" in (refused.value.hint or "")


def test_two_queries_do_not_share_an_offset():
    held = extent({("t", 0): (0, 9), ("u", 0): (0, 9)})
    of = {
        name: plan_publication(position({(topic, 0): 1}, f"s3://lake/{name}"), group, held)
        for name, topic, group in (("a", "t", "g"), ("b", "u", "h"))
    }
    same = plan_publication(position({("t", 0): 2}, "s3://lake/c"), "g", extent({("t", 0): (0, 9)}))
    assert conflicts([of["a"], of["b"]]) == {}
    errors = conflicts([of["a"], of["b"], same])
    assert errors.keys() == {0, 2}
    assert "partition t-0 is published to the group g for s3://lake/c as well" in str(errors[0])
    assert "for s3://lake/a as well" in str(errors[2])


@pytest.mark.parametrize(
    ("metadata", "ours"),
    [("ckpt batch 7", True), ("ckpt batch 7 of query 7f0c", True), ("", False), ("ckpt batch 7x", False)],
)
def test_what_was_published_is_known_again(metadata, ours):
    assert is_ours(metadata) is ours


@pytest.mark.parametrize(
    ("metadata", "query_id", "other"),
    [
        ("ckpt batch 7 of query 7f0c", "7f0c", False),
        ("ckpt batch 7 of query 7f0c", "0a1b", True),
        ("ckpt batch 7 of query 7f0c", "", True),
        ("ckpt batch 7", "", False),
        ("ckpt batch 7", "0a1b", False),
        ("mine", "0a1b", False),
    ],
)
def test_offsets_that_were_published_for_another_query_are_known(metadata, query_id, other):
    assert is_of_another_query(metadata, query_id) is other
