"""The walk of an Iceberg source. That it is the walk of Iceberg itself is shown in test_iceberg_loss, to the letter."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec.offsets.iceberg import START, IcebergOffset
from airflow_provider_ckpt.sources.iceberg.way import Skips, StoppedError, latest_offset, plan, stop_at
from airflow_provider_ckpt.tables.iceberg_history import History, Snapshot

#: Snapshot n was made at n seconds; n adds n files, and the operation is that of its letter.
OPERATIONS = {"a": "append", "r": "replace", "d": "delete", "o": "overwrite", "x": ""}
NO_SKIPS = Skips()


def history(letters: str, *, is_whole: bool = True) -> History:
    """The snapshots 1, 2, …; of one that is not whole, 1 comes from another one."""
    made = [
        Snapshot(
            number,
            number - 1 if number > 1 or not is_whole else None,
            number * 1_000,
            OPERATIONS[letter],
            added_files=number if letter in "aro" else None,
        )
        for number, letter in enumerate(letters, 1)
    ]
    return History("/t", "id", tuple(reversed(made)))


@pytest.mark.parametrize(
    ("letters", "start", "end"),
    [
        ("aaa", IcebergOffset(1, 1), IcebergOffset(3, 3)),
        ("aaa", IcebergOffset(3, 3), None),
        ("aaa", IcebergOffset(3, 1), IcebergOffset(3, 3)),
        ("aaa", START, IcebergOffset(3, 3)),
        ("arr", IcebergOffset(1, 1), None),  # what only replaces is not gone to
        ("ara", IcebergOffset(1, 1), IcebergOffset(3, 3)),
        ("", START, START),
        ("", IcebergOffset(1, 1), START),
    ],
)
def test_a_walk_ends_with_the_newest_snapshot_that_appends(letters, start, end):
    assert latest_offset(history(letters), start, NO_SKIPS).end == end


@pytest.mark.parametrize(
    ("from_ms", "begins"), [(None, 1), (1_500, 2), (2_000, 2), (3_000, 3), (500, 1)], ids=lambda value: str(value)
)
def test_without_a_position_it_begins_at_the_oldest_snapshot_or_at_a_time(from_ms, begins):
    table = history("d" * (begins - 1) + "aaa"[begins - 1 :])
    assert latest_offset(table, START, Skips(from_ms=from_ms)).end == IcebergOffset(3, 3)


def test_a_time_after_the_newest_snapshot_gives_every_position_up():
    assert latest_offset(history("aaa"), IcebergOffset(2, 2), Skips(from_ms=3_001)).end == START


@pytest.mark.parametrize(
    ("letter", "skips", "stops"),
    [
        ("a", NO_SKIPS, False),
        ("r", NO_SKIPS, False),
        ("d", NO_SKIPS, True),
        ("d", Skips(deletes=True), False),
        ("d", Skips(overwrites=True), True),
        ("o", NO_SKIPS, True),
        ("o", Skips(overwrites=True), False),
        ("x", Skips(deletes=True, overwrites=True), True),
    ],
)
def test_a_snapshot_that_does_not_append_stops_it_unless_an_option_skips_it(letter, skips, stops):
    table = history(f"a{letter}a")
    assert (stop_at(table.snapshots[1], skips) is not None) == stops
    if stops:
        with pytest.raises(StoppedError) as stopped:
            latest_offset(table, IcebergOffset(1, 1), skips)
        assert stopped.value.stop.snapshot_id == 2
    else:
        passed = latest_offset(table, IcebergOffset(1, 1), skips).passed
        assert [item.snapshot_id for item in passed] == ([2] if letter in "do" else [])


def test_a_planned_batch_stops_at_the_snapshot_that_it_begins_in_as_well():
    with pytest.raises(StoppedError, match="Cannot process delete snapshot: 2"):
        plan(history("ada"), IcebergOffset(2, 0), IcebergOffset(3, 3), NO_SKIPS)
    plan(history("ada"), IcebergOffset(3, 0), IcebergOffset(3, 3), NO_SKIPS)
    plan(history("ada"), IcebergOffset(99, 0), START, NO_SKIPS)


@pytest.mark.parametrize(("is_whole", "error"), [(True, "NullPointerException"), (False, "IllegalStateException")])
def test_a_planned_end_that_is_not_ahead_is_never_met(is_whole, error):
    with pytest.raises(StoppedError) as stopped:
        plan(history("aaa", is_whole=is_whole), IcebergOffset(2, 2), IcebergOffset(1, 1), NO_SKIPS)
    assert stopped.value.stop.error == error
