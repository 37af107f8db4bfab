"""Two outputs as multisets of rows: what is equal, what is told, and what is no proof."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from airflow_provider_ckpt.blue_green.rows import Shape, compare_rows, shape_differences

ROWS = [{"k": 1, "v": "a"}, {"k": 2, "v": "b"}, {"k": 2, "v": "b"}]


def test_the_order_of_rows_and_columns_does_not_matter():
    found = compare_rows(ROWS, [{"v": row["v"], "k": row["k"]} for row in reversed(ROWS)])
    assert found.is_equal and found.sentence == "all 3 rows are equal"


@pytest.mark.parametrize(
    ("shadow", "sentence"),
    [
        (ROWS[:2], "1 of 3 live rows are missing, 1 keys differ"),
        ([*ROWS, ROWS[0]], "1 of 4 shadow rows are not in the live output, 1 keys differ"),
        (
            [{"k": 1, "v": "c"}, *ROWS[1:]],
            "1 of 3 live rows are missing, 1 of 3 shadow rows are not in the live output, 1 keys differ",
        ),
        ([], "3 of 3 live rows are missing, 2 keys differ"),
    ],
    ids=["lost", "twice", "other", "none"],
)
def test_a_difference_is_counted(shadow, sentence):
    found = compare_rows(ROWS, shadow, keys=["k"])
    assert (found.is_equal, found.sentence) == (False, sentence)


@pytest.mark.parametrize(
    ("one", "other"), [(1, "1"), (1, 1.0), (1, True), ("null", None), (["null"], [None]), ([1], [1, 1]), ({"a": 1}, {})]
)
def test_values_of_two_types_are_two_values(one, other):
    assert not compare_rows([{"k": one}], [{"k": other}]).is_equal


@pytest.mark.parametrize("value", [float("nan"), None, [None], [1, {"a": None}], {"b": 1, "a": 2}])
def test_equal_values_are_equal(value):
    assert compare_rows([{"k": 1, "v": value}], [{"v": value, "k": 1}]).is_equal


def test_a_null_is_a_column_that_the_row_lacks():
    assert compare_rows([{"k": 1, "v": None}, {"k": 2, "v": 3}], [{"k": 1}, {"k": 2, "v": 3}]).is_equal


def test_columns_are_declared_or_differ():
    more = [{**row, "new": 1} for row in ROWS]
    assert compare_rows(ROWS, more).new_columns == ("new",)
    assert compare_rows(ROWS, more, added=["new"]).is_equal
    assert compare_rows(more, ROWS).lost_columns == ("new",)
    assert not compare_rows(more, ROWS, added=["new"]).is_equal, "the live output has it"
    assert compare_rows(more, ROWS, ignore=["new"]).is_equal


def test_nothing_is_no_proof():
    found = compare_rows([], [])
    assert not found.is_equal and "nothing was compared" in found.sentence


def test_the_examples_show_the_rows_of_a_key_side_by_side():
    found = compare_rows(ROWS, [{"k": 1, "v": "c"}, *ROWS[1:]], keys=["k"])
    assert [(item.key, item.live, item.shadow) for item in found.examples] == [
        (("1",), '{k: 1, v: "a"}', '{k: 1, v: "c"}')
    ]
    with pytest.raises(ValueError, match="no column id"):
        compare_rows(ROWS, ROWS, keys=["id"])


def test_no_column_is_no_proof():
    with pytest.raises(ValueError, match="no column of the live output is left to compare"):
        compare_rows(ROWS, ROWS, ignore=["k", "v"])


def test_more_rows_than_are_held_are_refused():
    with pytest.raises(ValueError, match="more than 2 rows; compare fewer batches"):
        compare_rows(ROWS, ROWS, most_rows=2)


@pytest.mark.parametrize("row", [7, None, "text", ["k", 1], {1: "k"}], ids=repr)
def test_what_is_no_row_is_refused(row):
    with pytest.raises(ValueError, match="row 2 of the shadow output is no mapping from column to value, but "):
        compare_rows(ROWS, [{"k": 1}, row])


def test_examples_of_many_differences_are_the_first_ones():
    """The rows of a key that differs very often are told as often as there are examples, and counted in full."""
    live, shadow = ([{"k": number, "v": side} for number in (3, 1, 2) for _ in range(20)] for side in "ab")
    found = compare_rows(live, shadow, keys=["k"])
    assert (found.missing, found.extra, found.keys) == (60, 60, 3)
    assert [(item.live, item.shadow) for item in found.examples] == [('{k: 1, v: "a"}', '{k: 1, v: "b"}')] * 5
    alone = compare_rows(live, shadow).examples
    assert [(item.live, item.shadow) for item in alone] == [('{k: 1, v: "a"}', None)] * 5


def test_counts_are_those_of_multisets():
    """Against the definition, on seeded random rows."""
    chance = random.Random(13)
    for _ in range(50):
        live, shadow = ([{"k": chance.randrange(4)} for _ in range(chance.randrange(1, 9))] for _ in range(2))
        left, right = (Counter(row["k"] for row in rows) for rows in (live, shadow))
        found = compare_rows(live, shadow, keys=["k"])
        assert (found.missing, found.extra) == ((left - right).total(), (right - left).total())
        assert found.is_equal == (left == right)
        assert found.keys == len({*(left - right), *(right - left)})


JSON = Shape("json")
BY_DAY = Shape("json", ("day",))


def parquet(**types: str) -> Shape:
    return Shape("parquet", types=tuple(types.items()))


@pytest.mark.parametrize(
    ("live", "shadow", "differences"),
    [
        ([JSON], [JSON], ()),
        ([parquet(k="int32", v="string")], [parquet(v="string", k="int32")], ()),
        ([parquet(k="int32")], [JSON], ("the format is json and was parquet",)),
        ([parquet(k="int32")], [parquet(k="int64")], ("column k is int64 and was int32",)),
        (
            [parquet(k="int32")],
            [parquet(k="int32"), parquet(k="int64")],
            ("column k is int32 or int64 and was int32",),
        ),
        ([parquet(k="int32")], [parquet(other="int64")], ()),
        ([JSON], [BY_DAY], ("the partition columns are day and were none",)),
        (
            [BY_DAY],
            [Shape("json", ("day", "hour"))],
            ("the partition columns are day, hour and were day",),
        ),
        (
            [Shape("json", ("day", "hour"))],
            [Shape("json", ("hour", "day"))],
            ("the partition columns are hour, day and were day, hour",),
        ),
        ([], [JSON], ()),
        ([JSON], [], ()),
    ],
)
def test_what_differs(live, shadow, differences):
    assert shape_differences(live, shadow) == differences
