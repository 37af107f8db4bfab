"""The offset of a stream over a fleet."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.codec import checkpoint_offset
from airflow_provider_ckpt.codec.checkpoint_offset import MOST_PLAIN_BYTES, CheckpointPosition, decode, encode
from airflow_provider_ckpt.codec.jvm_text import LONG_MAX
from airflow_provider_ckpt.codec.source_offset import SourceOffset

LONG = st.integers(0, LONG_MAX)
POSITIONS = st.builds(CheckpointPosition, st.integers(0, 50), LONG, st.integers(-1, LONG_MAX), st.none() | LONG)


def many(count: int) -> dict[str, CheckpointPosition]:
    return {
        f"s3://lake/team-{number % 97:02d}/query-{number:06d}": CheckpointPosition(
            0, 3, 3 + number % 1000, 1_795_353_166_039 + number
        )
        for number in range(count)
    }


@given(st.dictionaries(st.text(), POSITIONS, max_size=20), st.booleans())
def test_positions_come_back(positions, compressed):
    before = checkpoint_offset.MOST_PLAIN_BYTES
    checkpoint_offset.MOST_PLAIN_BYTES = 0 if compressed else before
    try:
        assert decode(json.loads(json.dumps(encode(positions)))) == positions
    finally:
        checkpoint_offset.MOST_PLAIN_BYTES = before


def test_few_checkpoints_are_json_that_people_can_read():
    positions = {"s3://b": CheckpointPosition(1, 5, 7, None), "s3://a": CheckpointPosition(0, 0, 3, 9)}
    assert json.dumps(encode(positions)) == '{"v": 1, "at": {"s3://a": [0, 0, 3, 9], "s3://b": [1, 5, 7, null]}}'
    assert json.dumps(encode({})) == '{"v": 1, "at": {}}'


@pytest.mark.sweep
def test_a_hundred_thousand_checkpoints_take_less_than_a_megabyte():
    assert len(json.dumps(encode(many(1_000)))) <= 2 * MOST_PLAIN_BYTES
    assert len(json.dumps(encode(many(100_000)))) < 1_000_000


def test_equal_positions_have_one_text_in_any_order():
    positions = many(5_000)
    assert encode(dict(reversed(positions.items()))) == encode(positions)


@pytest.mark.parametrize(
    "value",
    [
        5,
        {},
        {"v": 2, "at": {}},
        {"v": 1, "at": {"a": [0, 0, 1]}},
        {"v": 1, "at": {"a": [0, 0, 1, "now"]}},
        {"v": 1, "at": {"a": [0, True, 1, 2]}},
        {"v": 1, "at": {"a": [0, 0, 2**63, 2]}},
        {"v": 1, "at": "AAAA"},
        {"v": 1, "names": "eJw=", "at": "AAAA"},
        {"v": 1, "names": "?", "at": "?"},
        {**encode(many(5_000)), "at": encode(many(6_000))["at"]},
    ],
)
def test_what_is_no_offset_is_refused(value):
    with pytest.raises(ValueError, match="not |cannot be read"):
        decode(value)


def test_no_text_unpacks_to_more_than_the_bound(monkeypatch):
    bomb = encode(many(5_000))
    monkeypatch.setattr(checkpoint_offset, "MOST_UNPACKED_BYTES", 1_000)
    checkpoint_offset._names.cache_clear()
    checkpoint_offset._unpacked.cache_clear()
    with pytest.raises(ValueError, match="too many"):
        decode(bomb)


def test_it_counts_batches_and_a_new_timeline_from_its_first():
    def offset(**positions: tuple[int, int, int, int]) -> SourceOffset:
        return SourceOffset(json.dumps({"v": 1, "at": positions}))

    earlier = offset(a=(0, 0, 7, 1), b=(0, 0, 9, 1)).view("checkpoint")
    later = offset(a=(0, 0, 9, 2), b=(1, 6, 7, 2), c=(0, 4, 5, 2)).view("checkpoint")
    assert later.minus(earlier) == {"a": 2, "b": 2, "c": 2}
    assert [item.start for item in later.advanced_since(earlier)] == [7, 5, 3]
    assert later.has_reached(earlier)
    assert not earlier.has_reached(later)
