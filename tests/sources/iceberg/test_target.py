"""Where in an Iceberg table a source goes, of tables that are told as letters."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec.offsets.iceberg import START, IcebergOffset
from airflow_provider_ckpt.sources.iceberg.target import (
    after,
    counted,
    first_from,
    initial_beside,
    next_stop,
    unread,
)
from airflow_provider_ckpt.sources.move import UNKNOWN_PART, Counted
from airflow_provider_ckpt.tables.iceberg_history import History, Snapshot

OPERATIONS = {"a": "append", "A": "append", "r": "replace", "d": "delete", "o": "overwrite"}


def history(letters: str, *, is_whole: bool = True) -> History:
    """The snapshots 1, 2, … of one second each, of two files and ten rows; A does not say how many."""
    made = [
        Snapshot(
            number,
            number - 1 if number > 1 or not is_whole else None,
            number * 1_000,
            OPERATIONS[letter],
            added_files=2 if letter == "a" else None,
            added_rows=10 if letter == "a" else None,
        )
        for number, letter in enumerate(letters, 1)
    ]
    return History("/t", "id", tuple(reversed(made)))


def at(snapshot_id: int, position: int) -> IcebergOffset:
    return IcebergOffset(snapshot_id, position)


@pytest.mark.parametrize(
    ("letters", "snapshot_id", "offset"),
    [
        ("aaa", 2, at(2, 2)),
        ("aaa", 3, at(3, 2)),
        ("ada", 2, at(3, 0)),  # a source cannot be at a delete
        ("ara", 2, at(3, 0)),
        ("aad", 3, at(2, 2)),  # as Spark itself is when nothing else comes
        ("aar", 3, at(2, 2)),
        ("aAa", 2, at(3, 0)),
        ("aA", 2, None),
        ("d", 1, at(1, 0)),
        ("Ad", 2, None),
    ],
)
def test_right_after_a_snapshot(letters, snapshot_id, offset):
    table = history(letters)
    assert after(table, table.find(snapshot_id)) == offset


@pytest.mark.parametrize(("at_ms", "snapshot_id"), [(0, 1), (1_001, 2), (2_000, 2), (3_000, 3), (3_001, None)])
def test_the_first_snapshot_of_a_time(at_ms, snapshot_id):
    found = first_from(history("aaa"), at_ms)
    assert (None if found is None else found.snapshot_id) == snapshot_id


@pytest.mark.parametrize(
    ("offset", "ids"),
    [(START, [1, 2, 3]), (at(1, 0), [1, 2, 3]), (at(1, 1), [1, 2, 3]), (at(1, 2), [2, 3]), (at(3, 2), [])],
)
def test_what_is_not_read_at_an_offset(offset, ids):
    assert [item.snapshot_id for item in unread(history("ada"), offset)] == ids


@pytest.mark.parametrize(("offset", "stop"), [(at(1, 2), 2), (at(3, 0), 5), (at(5, 0), 5), (at(6, 0), None)])
def test_the_next_snapshot_that_stops_it(offset, stop):
    found = next_stop(history("adaroa"), offset)
    assert (None if found is None else found.snapshot_id) == stop


@pytest.mark.parametrize(
    ("old", "new", "again", "left_out"),
    [
        (at(2, 2), at(2, 2), "", ""),
        (at(2, 2), at(3, 0), "", ""),
        (at(4, 2), at(2, 2), "2 data files with 10 rows of snapshot 4", ""),
        (at(4, 2), at(1, 0), "6 data files with 30 rows of 3 snapshots", ""),
        (at(1, 2), at(4, 2), "", "4 data files with 20 rows of 2 snapshots"),
        (at(1, 1), at(1, 2), "", "1 data file of snapshot 1"),
        (at(1, 2), at(2, 1), "", "1 data file of snapshot 2"),
        (at(2, 1), at(4, 0), "", "1 data file of snapshot 2"),
        (START, at(2, 2), "", "4 data files with 20 rows of 2 snapshots"),
        # its snapshot has expired, and the oldest comes right after it
        (at(0, 7), at(1, 0), "", "the unread rest of snapshot 0 (if any)"),
        (
            at(0, 7),
            at(2, 2),
            "",
            "the unread rest of snapshot 0 (if any) and 4 data files with 20 rows of 2 snapshots",
        ),
    ],
)
def test_what_lies_between_is_counted_in_files_of_appends(old, new, again, left_out):
    assert counted(history("aada", is_whole=False), old, new) == Counted(again, left_out)


def test_where_nobody_can_tell_what_was_read_any_part_may_be_read_again_and_left_out():
    assert counted(history("aaa"), at(99, 1), at(2, 2)) == UNKNOWN_PART
    assert counted(history("aAa"), at(1, 2), at(3, 2)) == Counted(
        left_out="an unknown number of data files of 2 snapshots"
    )


def test_what_was_read_of_a_branch_that_was_rolled_back_is_what_both_have():
    table = history("aaa")
    rolled = History(
        "/t", "id", table.snapshots, {12: Snapshot(12, 2, 2_500, "append"), 13: Snapshot(13, 12, 2_600, "append")}
    )
    assert counted(rolled, at(13, 2), at(2, 2)) == Counted()
    assert counted(rolled, at(13, 2), at(3, 2)) == Counted(left_out="2 data files with 10 rows of snapshot 3")


@pytest.mark.parametrize(
    ("letters", "initial", "new", "becomes"),
    [
        ("aaa", at(1, 0), at(2, 2), None),
        ("aaa", START, at(2, 2), None),
        ("aaa", at(99, 0), at(2, 2), START),  # it has expired
        ("aaa", None, at(2, 2), START),
        ("aaa", at(3, 2), at(3, 2), START),  # Iceberg stops with a NullPointerException
        ("adaa", at(1, 0), at(3, 0), at(3, 0)),  # a delete is between
        ("adaa", at(1, 0), at(4, 2), at(4, 0)),
        ("aad", at(1, 0), at(2, 2), None),  # the delete stops the query in any case
        ("aadr", at(1, 0), at(4, 0), None),
    ],
)
def test_the_initial_offset_that_goes_with_a_position(letters, initial, new, becomes):
    assert initial_beside(history(letters), initial, new) == becomes
