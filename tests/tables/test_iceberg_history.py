"""The snapshots of a table, in their order."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.tables.iceberg_history import Expiry, History, Snapshot, files_of, rows_of

DAY_MS = 24 * 3_600_000


def snapshot(snapshot_id: int, parent_id: int | None, operation: str = "append", **told: int) -> Snapshot:
    return Snapshot(snapshot_id, parent_id, snapshot_id * DAY_MS, operation, **told)


#: 4 comes from 3, 2 and 1, which has expired; 13 and 14 were rolled back after 2; 21 is of another table's history.
HISTORY = History(
    "/lake/orders",
    "id",
    (
        snapshot(4, 3, added_files=2, added_rows=9),
        snapshot(3, 2, "delete"),
        snapshot(2, 1, added_files=1, added_rows=5),
    ),
    {13: snapshot(13, 2), 14: snapshot(14, 13), 21: snapshot(21, 20), 22: snapshot(22, 22)},
    Expiry(max_age_ms=5 * DAY_MS, least_kept=1, pinned=frozenset({3})),
)


def ids(snapshots) -> list[int]:
    return [item.snapshot_id for item in snapshots]


def test_snapshots_are_found_by_their_id_and_by_the_one_that_they_come_from():
    assert HISTORY.newest == HISTORY.find(4) and HISTORY.oldest == HISTORY.find(2)
    assert HISTORY.find(13) is None and HISTORY.has(13) and not HISTORY.has(1)
    assert HISTORY.child_of(1) == HISTORY.find(2) and HISTORY.child_of(4) is None
    assert ids(HISTORY.after(2)) == [3, 4] and ids(HISTORY.after(None)) == [2, 3, 4] and ids(HISTORY.after(4)) == []
    assert ids(HISTORY.between(2, 4)) == [3, 4] and ids(HISTORY.between(None, 3)) == [2, 3]
    assert ids(HISTORY.between(4, 3)) == []


def test_a_history_is_whole_when_its_oldest_snapshot_comes_from_none():
    assert not HISTORY.is_whole
    assert History("", "", (snapshot(1, None),)).is_whole and History("", "", ()).is_whole


@pytest.mark.parametrize(("snapshot_id", "fork"), [(14, 2), (13, 2), (3, 3), (21, None), (22, None), (99, None)])
def test_where_a_snapshot_left_the_main_branch(snapshot_id, fork):
    found = HISTORY.fork_of(snapshot_id)
    assert (None if found is None else found.snapshot_id) == fork


@pytest.mark.parametrize(("snapshot_id", "day"), [(2, 7), (3, None), (4, None), (13, None)])
def test_an_expiry_takes_what_is_older_but_the_newest_and_what_a_tag_holds(snapshot_id, day):
    kept_until_ms = HISTORY.kept_until_ms(snapshot_id)
    assert kept_until_ms == (None if day is None else day * DAY_MS)


def test_files_and_rows_are_those_of_appends_and_unknown_when_one_does_not_say():
    assert (files_of(HISTORY.snapshots), rows_of(HISTORY.snapshots)) == (3, 14)
    assert files_of([snapshot(1, None)]) is None and rows_of([snapshot(1, None, added_files=1)]) is None
    assert files_of([snapshot(1, None, "replace")]) == 0


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ({"added_files": 1, "added_rows": 1_000}, ", which adds 1 data file with 1,000 rows"),
        ({"removed_files": 2, "removed_rows": 1}, ", which removes 2 data files with 1 row"),
        ({"added_files": 1, "removed_rows": 3}, ", which adds 1 data file and removes 3 rows"),
        ({"added_files": 0}, ""),
    ],
)
def test_a_snapshot_says_what_it_did(told, text):
    assert snapshot(7, 6, "overwrite", **told).text == f"7 (overwrite of 1970-01-08T00:00:00.000Z){text}"
    assert snapshot(7, 6, "").text.startswith("7 (of an unknown operation of ")
