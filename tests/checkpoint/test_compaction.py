"""Where Spark compacts the log of a file source or sink: ``CompactibleFileStreamLog``, as real Spark 4.3 was seen to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.checkpoint.compaction import COMPACT_INTERVAL, Shape, interval_of, interval_over, misnamed
from airflow_provider_ckpt.codec.jvm_text import INT_MAX


@pytest.mark.parametrize(
    ("conf", "compacted", "interval"),
    [
        (10, [], 10),
        (3, [], 3),
        (10, [9, 19], 10),
        (3, [9, 19, 29], 10),  # two of them decide
        (10, [2], 3),  # one of them bounds: its number divides what it covers
        (3, [9], 5),
        (2, [9], 2),
        (5, [11], 6),
        (7, [11], 12),
        (10, [19], 20),  # more than half of what it covers
        (10, [29], 10),
        (1, [6], 1),
        (2, [6], 7),
        (10, [INT_MAX], None),  # Spark counts it as a negative number
    ],
)
def test_the_interval(conf, compacted, interval):
    assert interval_over(conf, compacted) == interval


@given(st.integers(1, 60), st.integers(0, 3_000))
def test_one_compacted_entry_stays_one(conf, compacted):
    interval = interval_over(conf, [compacted])
    assert interval is not None and (compacted + 1) % interval == 0


@pytest.mark.parametrize(
    ("conf", "plain", "compacted", "expected"),
    [
        (10, range(6), (), None),
        (100, range(6), (), None),
        (7, range(6), (), None),  # entry 6 will be compacted, with all before it
        (4, range(6), (), ("3.compact", 7)),
        (3, range(6), (), ("5.compact", 8)),
        (10, range(15), (), ("9.compact", 19)),  # it was written with a larger interval
        (10, (*range(9), 10, 11), (9,), None),
        (3, (*range(9), 10, 11), (9,), None),
        (2, (*range(9), 10, 11), (9,), ("11.compact", 13)),
        (10, (*range(9), 10, 11), (8, 9), ("11.compact", 12)),  # a compacted entry that is not Spark's: interval 1
        (10, (), (9, 19), None),
        (10, (), (), None),
        (10, (3,), (9,), None),  # before the last compaction nothing is read
        (10, (10**18,), (), None),
    ],
)
def test_the_first_entry_that_spark_does_not_find(conf, plain, compacted, expected):
    wrong = misnamed(conf, set(plain), set(compacted))
    assert (None if wrong is None else (wrong.wanted, wrong.read_at)) == expected


@given(st.integers(1, 12), st.integers(0, 60), st.integers(1, 40))
def test_a_log_that_goes_on_as_it_began_is_found(interval, last, kept):
    """With one interval from the first entry on, and old entries deleted or not."""
    entries = range(max(0, last // interval * interval - kept), last + 1)
    compacted = {entry for entry in entries if (entry + 1) % interval == 0}
    assert misnamed(interval, set(entries) - compacted, compacted) is None


def test_the_default_is_that_of_spark():
    assert COMPACT_INTERVAL == 10


@pytest.mark.parametrize(
    ("plain", "compacted", "conf", "interval"),
    [
        (set(), set(), 10, 10),
        ({7, 8}, {9}, 10, 10),
        ({20}, {9, 19}, 3, 10),
        ({4, 5}, {3}, 4, 4),
        ({8, 10}, {9, 29}, 10, 10),
        ({9}, set(), 10, None),
        ({3, 4}, {8, 9}, 10, None),
        ({1}, {19}, 10, 20),
    ],
)
def test_the_interval_is_the_one_that_fits_the_names(plain, compacted, conf, interval):
    assert interval_of(plain, compacted, conf) == interval


@pytest.mark.parametrize(
    ("newest", "base", "names"),
    [
        (2, -1, ["0", "1", "2"]),
        (9, 9, ["9.compact"]),
        (11, 9, ["9.compact", "10", "11"]),
    ],
)
def test_readers_begin_at_the_newest_compacted_entry(newest, base, names):
    shape = Shape(10, newest)
    assert shape.base == base
    assert [shape.entry(batch) for batch in shape.live] == [f"_spark_metadata/{name}" for name in names]
