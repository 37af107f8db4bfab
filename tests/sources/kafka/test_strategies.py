"""The strategies of ``kafka-consumer-groups --reset-offsets``, as its version 4.3 carries them out, and our own words."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.sources.kafka.extent import Extent
from airflow_provider_ckpt.sources.kafka.strategies import (
    ByDuration,
    Clamped,
    FromFile,
    Scope,
    ShiftBy,
    Strategy,
    ToCurrent,
    ToDatetime,
    ToEarliest,
    ToLatest,
    ToOffsets,
    asked_ms,
    listed,
    parse_scope,
    target,
    text_of,
)

T0, T1, T2, T3 = ("t", 0), ("t", 1), ("t", 2), ("t", 3)
#: As the group in the measurements of Kafka's tool: p0 holds 5..19, p1 0..9, p2 nothing.
EXTENT = Extent({"t": "id"}, {T0: 5, T1: 0, T2: 0}, {T0: 20, T1: 10, T2: 0})
CURRENT = {T0: 12, T1: 10, T2: 0}
ALL = Scope()

AS_KAFKA = {
    "to-earliest": (ToEarliest(), (5, 0, 0)),
    "to-latest": (ToLatest(), (20, 10, 0)),
    "to-current": (ToCurrent(), (12, 10, 0)),
    "to-offset 7": (ToOffsets(7), (7, 7, 0)),
    "to-offset 3": (ToOffsets(3), (5, 3, 0)),
    "to-offset 99": (ToOffsets(99), (20, 10, 0)),
    "shift-by -3": (ShiftBy(-3), (9, 7, 0)),
    "shift-by -100": (ShiftBy(-100), (5, 0, 0)),
    "shift-by 100": (ShiftBy(100), (20, 10, 0)),
    "to-datetime": (ToDatetime(1_000), (14, 10, 0)),
    "by-duration": (ByDuration(1_000), (14, 10, 0)),
    "from-file": (FromFile({T0: 99, T1: 3, T2: 1}), (20, 3, 0)),
}
#: What the broker says of the time asked for: p1 has nothing that is younger, and p2 nothing at all.
FOUND = {T0: 14, T1: None, T2: None}


@pytest.mark.parametrize(("strategy", "offsets"), AS_KAFKA.values(), ids=AS_KAFKA)
def test_each_strategy_gives_the_offsets_that_kafka_gives(strategy: Strategy, offsets: tuple[int, ...]):
    found = target(strategy, CURRENT, EXTENT, ALL, found_at=FOUND)
    assert tuple(found.offsets.values()) == offsets and list(found.offsets) == [T0, T1, T2]


def test_what_the_topic_does_not_hold_is_brought_into_it_and_said():
    found = target(ToOffsets(3), CURRENT, EXTENT, ALL)
    assert found.clamped == (Clamped(T0, 3, 5), Clamped(T2, 3, 0))
    assert target(ToOffsets({T0: 20, T1: 0}), CURRENT, EXTENT, ALL).clamped == ()


def test_without_a_record_from_that_time_on_it_is_the_end_and_said():
    found = target(ToDatetime(1_000), CURRENT, EXTENT, ALL, found_at=FOUND)
    assert found.notes == ("There is no record from that time on in t-1, t-2: the position is the end.",)


@pytest.mark.parametrize(
    ("strategy", "now_ms", "at_ms"),
    [
        (ToDatetime(5), 9, 5),
        (ToDatetime(-5), 9, 0),
        (ByDuration(4), 9, 5),
        (ByDuration(10), 9, 0),
        (ToLatest(), 9, None),
    ],
)
def test_a_time_before_1970_is_the_beginning(strategy, now_ms, at_ms):
    assert asked_ms(strategy, now_ms) == at_ms


def test_offsets_by_partition_know_the_words_of_starting_offsets():
    found = target(ToOffsets({T0: -2, T1: -1}), CURRENT, EXTENT, ALL)
    assert found.offsets == {T0: 5, T1: 10, T2: 0}


# --- scope ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "moved"),
    [([], {T0, T1, T2}), (["t"], {T0, T1, T2}), (["t:0"], {T0}), (["t:0,2"], {T0, T2}), (["t:0", "t:2"], {T0, T2}), (["t:0", "t"], {T0, T1, T2})],
)  # fmt: skip
def test_the_partitions_that_are_named_are_moved_and_the_others_stay(texts, moved):
    current = {T0: 12, T1: 9, T2: 0}
    found = target(ToEarliest(), current, EXTENT, parse_scope(texts))
    earliest = EXTENT.earliest
    assert found.offsets == {at: earliest[at] if at in moved else current[at] for at in current}


def test_what_is_not_moved_stays_also_where_the_topic_does_not_hold_it():
    found = target(ToLatest(), {T0: 2, T1: 0}, EXTENT, parse_scope(["t:1"]))
    assert (found.offsets[T0], found.clamped) == (2, ())
    assert "Not moved, and not at an offset that the topic holds: t-0." in found.notes[0]


@pytest.mark.parametrize("text", ["", "t:", "t:x", "t:1,", "t:-1", "t:²", "a b", "t:0:1", "t:99999999999"])
def test_what_is_no_scope_is_refused(text):
    with pytest.raises(ValueError, match="topic"):
        parse_scope([text])


UNKNOWN = {
    "a topic that the query does not read": (ToEarliest(), ["other"], "the query does not read the topic other; it reads t"),
    "so in a file": (FromFile({("other", 0): 1}), [], "the query does not read the topic other; it reads t"),
    "a partition that there is not": (ToEarliest(), ["t:9"], "the partition t-9 does not exist"),
    "so in a file, too": (FromFile({("t", 9): 1}), [], "the partition t-9 does not exist"),
    "nothing of a file": (FromFile({T0: 1}), ["t:1"], "no partition of the query is moved"),
    "a shift of a partition without a position": (ShiftBy(1), ["t:3"], "partition t-3 has no committed position"),
    "the current position of such a one": (ToCurrent(), ["t:3"], "partition t-3 has no committed position"),
}  # fmt: skip
GROWN = Extent({"t": "id"}, {**EXTENT.earliest, T3: 4}, {**EXTENT.latest, T3: 8})


@pytest.mark.parametrize(("strategy", "texts", "problem"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_nobody_knows_is_an_error(strategy, texts, problem):
    with pytest.raises(ValueError, match=problem):
        target(strategy, CURRENT, GROWN, parse_scope(texts))


def test_a_topic_that_does_not_exist_is_an_error_unless_it_is_not_moved():
    current = {**CURRENT, ("gone", 0): 3}
    with pytest.raises(ValueError, match="the topic gone does not exist"):
        target(ToEarliest(), current, EXTENT, ALL)
    assert target(ToEarliest(), current, EXTENT, parse_scope(["t"])).offsets[("gone", 0)] == 3


# --- partitions that came, and that went ----------------------------------------------------------------------------


def test_a_new_partition_is_left_to_spark_and_named():
    found = target(ToLatest(), CURRENT, GROWN, ALL)
    assert T3 not in found.offsets
    assert found.notes == (
        "Not in the entry: t-3. Spark reads such a partition from its earliest offset.",
        "The first records of t-3 are gone, so Spark stops there unless failOnDataLoss is false. Name such a partition "
        "(--topic, topics= in a DAG) to put it into the entry.",
    )


def test_one_that_is_named_comes_into_the_entry():
    found = target(ToLatest(), CURRENT, GROWN, parse_scope(["t:3"]))
    assert found.offsets == {**CURRENT, T3: 8}
    assert "New in the entry: t-3. If the query does not read it, the query stops" in found.notes[0]
    assert target(FromFile({T3: 5}), CURRENT, GROWN, ALL).offsets == {**CURRENT, T3: 5}


def test_one_that_the_topic_has_no_more_is_left_out():
    found = target(ToCurrent(), {**CURRENT, T3: 4}, EXTENT, ALL)
    assert found.offsets == CURRENT
    assert found.notes == ("The topic has t-3 no more: left out, for with it the query would stop.",)


def test_one_that_the_topic_has_no_more_and_that_is_not_moved_is_named():
    moved = target(ToCurrent(), {**CURRENT, T3: 4}, EXTENT, parse_scope(["t:0"]))
    assert moved.offsets == {**CURRENT, T3: 4}
    assert moved.notes[0].startswith("Not moved, and not in the topic any more: t-3. The query stops at it.")
    left_out = target(ToCurrent(), {**CURRENT, T3: 4}, EXTENT, parse_scope(["t:0,3"]))
    assert left_out.offsets == CURRENT, "as the note says"


# --- a topic that was created again ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "planned", "offset"),
    [
        (4, {}, 0),  # the position is past the end
        (4, {T0: 4}, 0),  # and a start has planned the end
        (24, {T0: 4}, 0),  # it has grown since: only the plan shows it
        (24, {T0: 12}, 10),
        (24, {}, 10),
    ],
)
def test_the_position_of_an_earlier_topic_becomes_the_earliest_offset(end, planned, offset):
    """So that a topic which was created again is read from its beginning, and not from the middle."""
    extent = Extent({"t": "id"}, {T0: 0}, {T0: end})
    found = target(ToCurrent(), {T0: 10}, extent, ALL, planned=planned)
    assert found.offsets == {T0: offset} and found.clamped == ()
    assert bool(found.notes) == (offset == 0)


def test_all_partitions_of_a_topic_that_was_created_again_are_new():
    extent = Extent({"t": "id", "u": "id"}, {T0: 0, T1: 2, ("u", 0): 0}, {T0: 4, T1: 25, ("u", 0): 9})
    current = {T0: 10, T1: 10, ("u", 0): 5}
    assert target(ToCurrent(), current, extent, ALL).offsets == {T0: 0, T1: 2, ("u", 0): 5}
    assert target(ToOffsets(3), current, extent, ALL).offsets == {T0: 3, T1: 3, ("u", 0): 3}, "somebody has chosen it"
    for strategy in (ToLatest(), ShiftBy(-1), ToDatetime(0), ByDuration(0)):
        with pytest.raises(ValueError, match="the topic t was created again, or has lost records"):
            target(strategy, current, extent, ALL, found_at={})
    assert target(ToLatest(), current, extent, parse_scope(["u"])).offsets == {T0: 10, T1: 10, ("u", 0): 9}


def test_a_position_before_the_beginning_is_brought_to_it():
    found = target(ToCurrent(), {T0: 2}, EXTENT, ALL)
    assert found.clamped == (Clamped(T0, 2, 5),)


# --- for people -----------------------------------------------------------------------------------------------------


def test_partitions_are_listed_shortly():
    assert listed(("t", number) for number in range(7)) == "t-0, t-1, t-2, t-3, t-4 and 2 more"


@pytest.mark.parametrize(
    ("strategy", "text"),
    [
        (ShiftBy(-1000), "the committed offsets -1,000"),
        (ShiftBy(5), "the committed offsets +5"),
        (ToOffsets(7), "offset 7"),
        (ToOffsets({T0: 7}), "the offsets that were given"),
        (FromFile({T0: 7}), "the offsets that were given"),
        (ToDatetime(0), "the first records from 1970-01-01T00:00:00.000Z on"),
        (ByDuration(60_000), "the first records of the last 60,000 ms"),
    ],
)
def test_a_strategy_in_words(strategy, text):
    assert text_of(strategy) == text


def test_many_partitions_are_not_searched_one_by_one():
    """A search for each of 10,000 would be 50 million comparisons."""
    compared = 0

    class Number(int):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return int(self) == other

        __hash__ = int.__hash__

    def partitions() -> dict[tuple[str, int], int]:
        return {("t", Number(number)): 9 for number in range(1_000)}

    moved = target(ShiftBy(-2), partitions(), Extent({"t": "id"}, dict.fromkeys(partitions(), 0), partitions()), ALL)
    assert set(moved.offsets.values()) == {7}
    assert compared < 1_000 * 100
