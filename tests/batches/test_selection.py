"""Which batches are asked for, and what is declared of sources."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.batches.selection import CLOCKS_MS, DeclaredTypes, Selection

BATCHES = (3, 4, 7, 8, 9)


@pytest.mark.parametrize(
    ("selection", "batches"),
    [
        (Selection(), BATCHES),
        (Selection(first_batch=4), (4, 7, 8, 9)),
        (Selection(first_batch=5, last_batch=8), (7, 8)),
        (Selection(last_batches=2), (8, 9)),
        (Selection(last_batches=2, last_batch=8), (8,)),
        (Selection(first_batch=10), ()),
        (Selection(first_batch=8, last_batch=4), ()),
    ],
)
def test_batches_by_their_ids(selection, batches):
    assert selection.of(BATCHES) == batches


@pytest.mark.parametrize(("at_ms", "admitted"), [(9, False), (10, True), (19, True), (20, False), (None, True)])
def test_batches_by_their_times(at_ms, admitted):
    assert Selection(from_ms=10, until_ms=20).admits_time(at_ms) is admitted


def test_what_was_committed_long_before_need_not_be_read():
    assert Selection(from_ms=2 * CLOCKS_MS).is_too_old(CLOCKS_MS - 1)
    assert not Selection(from_ms=2 * CLOCKS_MS).is_too_old(CLOCKS_MS)
    assert not Selection(from_ms=2 * CLOCKS_MS).is_too_old(None)
    assert not Selection().is_too_old(0)


def test_two_selections_together_admit_what_both_do():
    one, other = Selection(3, 9, 5, 10, None), Selection(4, None, None, 5, 20)
    assert one.within(other) == other.within(one) == Selection(4, 9, 5, 10, 20)


def test_types_of_every_checkpoint_or_by_a_pattern_of_locations():
    assert DeclaredTypes.parse({"0": "kafka"}).of("s3://lake/orders") == {"0": "kafka"}
    by_pattern = DeclaredTypes.parse({"*/orders*": {"0": "kafka"}, "*": {"0": "file", "1": "rate"}})
    assert by_pattern.of("s3://lake/orders-2") == {"0": "kafka"}
    assert by_pattern.of("s3://lake/clicks") == {"0": "file", "1": "rate"}
    assert DeclaredTypes.parse({}).of("s3://lake/orders") == {}


@pytest.mark.parametrize("fields", [{"0": "kafak"}, {"0": 5}, {"*": {"0": "kafka"}, "0": "rate"}, {"*": {"0": 5}}])
def test_what_declares_no_types_is_refused(fields):
    with pytest.raises(ValueError, match=r"unknown source type 'kafak'|declare source types as"):
        DeclaredTypes.parse(fields)
