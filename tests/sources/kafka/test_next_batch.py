"""What the next batch reads: Spark's own sums, and the bounds that hold for all of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.query.source_options import DEFAULT_DELAY_MS, Limits
from airflow_provider_ckpt.query.trigger import AVAILABLE_NOW, ONCE
from airflow_provider_ckpt.sources.kafka import next_batch as module
from airflow_provider_ckpt.sources.kafka.extent import Extent
from airflow_provider_ckpt.sources.kafka.next_batch import Outlook, batches_until, next_batch


def extent(*latest: int, earliest: tuple[int, ...] = ()) -> Extent:
    """Partitions of one topic, by number."""
    first = earliest or (0,) * len(latest)
    return Extent(
        {"t": "id"}, {("t", at): end for at, end in enumerate(first)}, {("t", at): end for at, end in enumerate(latest)}
    )


def at(*position: int) -> dict[tuple[str, int], int]:
    return {("t", number): offset for number, offset in enumerate(position)}


def read(position: dict, there: Extent, limits: Limits, **more: bool) -> list[int]:
    return list(next_batch(position, there, limits, **more).ends.values())


SIZES = extent(1000, 10, 1, 0, 333)
BEGIN = at(0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("most", "ends"),
    [
        (0, [0, 0, 0, 0, 0]),
        (1, [1, 1, 1, 0, 1]),
        (3, [2, 1, 1, 0, 1]),  # five offsets, as a real query has read
        (100, [74, 1, 1, 0, 24]),
        (700, [520, 5, 1, 0, 173]),  # 699
        (1344, [1000, 10, 1, 0, 333]),
        (5000, [1000, 10, 1, 0, 333]),
        (None, [1000, 10, 1, 0, 333]),
    ],
)
def test_a_limit_is_shared_in_proportion_to_what_is_unread(most, ends):
    assert read(BEGIN, SIZES, Limits(most)) == ends


def test_the_batch_after_it_shares_what_is_left():
    first = next_batch(BEGIN, SIZES, Limits(3))
    second = next_batch(first.ends, SIZES, Limits(3))
    assert (first.offsets, second.offsets) == (5, 4)
    assert second.starts == first.ends


@pytest.mark.parametrize(
    ("position", "there", "limits", "ends"),
    [
        pytest.param(at(5), extent(5, 8, earliest=(0, 3)), Limits(2), [5, 5], id="a new partition from its earliest"),
        pytest.param(at(5), extent(5, 8, earliest=(0, 3)), Limits(), [5, 8], id="a new partition without a limit"),
        pytest.param(at(9, 0), extent(4, 8), Limits(2), [4, 2], id="an end before the position stays as it is"),
        pytest.param(at(5, 5), extent(5, 5), Limits(2), [5, 5], id="nothing to read"),
        pytest.param(at(5, 5), extent(5), Limits(2), [5], id="a partition that is gone"),
        pytest.param(at(0, 0), extent(50, 50), Limits(2, trigger=ONCE), [50, 50], id="once ignores the limit"),
        pytest.param(at(0), extent(2**62), Limits(2**62 + 3), [2**62], id="large numbers"),
    ],
)
def test_where_a_batch_ends(position, there, limits, ends):
    assert read(position, there, limits) == ends


def test_a_minimum_holds_back_every_batch_but_the_first():
    there, limits = extent(5, 5), Limits(least=20)
    assert read(at(0, 0), there, limits) == [5, 5], "the first after a start runs at once"
    held = next_batch(at(0, 0), there, limits, is_first=False)
    assert (held.offsets, held.waits_ms) == (0, DEFAULT_DELAY_MS)
    assert next_batch(at(0, 0), extent(5, 15), limits, is_first=False).waits_ms is None
    assert next_batch(at(0, 0), there, Limits(least=20, trigger=ONCE), is_first=False).waits_ms is None
    new = extent(0, 20, earliest=(0, 19))
    assert next_batch(at(0), new, limits, is_first=False).offsets == 1, "a new partition counts from 0"


def test_with_both_the_minimum_decides_whether_and_the_maximum_how_much():
    limits = Limits(25, 20)
    assert read(at(7), extent(37), limits, is_first=False) == [32]
    assert next_batch(at(32), extent(44), limits, is_first=False).waits_ms is not None


@pytest.mark.parametrize(("most", "least"), [(3, 5), (-1, None), (None, -1)])
def test_limits_that_spark_does_not_start_with_are_refused(most, least):
    with pytest.raises(ValueError, match="OffsetsPerTrigger is"):
        Limits(most, least)


@pytest.mark.parametrize(
    ("target", "position", "there", "limits", "outlook"),
    [
        pytest.param(at(10), at(10), extent(30), Limits(), Outlook(0, 0), id="there already"),
        pytest.param(at(30), at(0), extent(30), Limits(), Outlook(1, 1), id="one batch without a limit"),
        pytest.param(at(30), at(0), extent(30), Limits(7), Outlook(5, 5), id="batches of seven"),
        pytest.param(at(8), at(0), extent(30), Limits(7), Outlook(2, 2), id="before the end"),
        pytest.param(at(31), at(0), extent(30), Limits(7), Outlook(None, None), id="not written yet"),
        pytest.param(at(0, 0, 1), at(0), extent(5, 5), Limits(), Outlook(None, None), id="no such partition"),
        pytest.param(at(30), at(0), extent(30), Limits(0), Outlook(None, None, 30), id="a limit of nothing"),
        pytest.param(
            at(30),
            at(0),
            extent(30),
            Limits(25, 20, trigger=AVAILABLE_NOW),
            Outlook(None, None, 5),
            id="a tail is left",
        ),
        pytest.param(
            at(25), at(0), extent(30), Limits(25, 20, trigger=AVAILABLE_NOW), Outlook(1, 1), id="but not that"
        ),
        pytest.param(at(30), at(0), extent(30), Limits(25, 20), Outlook(2, 2), id="after the delay"),
        pytest.param(at(30), at(0), extent(30), Limits(5, trigger=ONCE), Outlook(1, 1), id="once reads everything"),
        pytest.param(at(30), at(0), extent(30), Limits(10, trigger=AVAILABLE_NOW), Outlook(3, 3), id="available now"),
    ],
)
def test_how_many_batches_it_takes(target, position, there, limits, outlook):
    assert batches_until(target, position, there, limits) == outlook
    assert outlook.is_reached == (outlook.at_least is not None)


def test_many_batches_are_estimated_between_bounds(monkeypatch):
    there, limits = extent(10_000, 3_000), Limits(13)
    exact = batches_until(there.latest, at(0, 0), there, limits)
    monkeypatch.setattr(module, "MOST_ENDS", 100)
    rough = batches_until(there.latest, at(0, 0), there, limits)
    assert rough.at_least <= exact.at_least <= rough.at_most
    assert rough.at_most < 2 * rough.at_least
    tail = batches_until(there.latest, at(0, 0), there, Limits(13, 4, trigger=AVAILABLE_NOW))
    assert tail == Outlook(None, None, 4)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=8), st.integers(1, 10**6))
def test_a_batch_reads_about_its_limit_and_something_of_each_partition(ranges, most):
    starts, sizes = at(*(start for start, _ in ranges)), [size for _, size in ranges]
    there = extent(*(start + size for start, size in ranges))
    batch = next_batch(starts, there, Limits(most))
    with_data = sum(size > 0 for size in sizes)
    unread = sum(sizes)
    assert min(unread, most - with_data) <= batch.offsets <= min(unread, most + with_data)
    for partition, end in batch.ends.items():
        assert starts[partition] <= end <= there.latest[partition]
        assert (end > starts[partition]) == (there.latest[partition] > starts[partition])
