"""Where a source goes that reads a Delta table, by the log of a table that deltalake has written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow
import pytest
from deltalake import DeltaTable, write_deltalake

from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.codec.offsets.delta import DeltaOffset
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.sinks.change_effects import reset_effects
from airflow_provider_ckpt.sources.delta.resolve_goal import DeltaAim, Passed, commit_text, read_passed
from airflow_provider_ckpt.sources.goal import SkipVersion, ToVersion
from airflow_provider_ckpt.sources.kafka.strategies import (
    ByDuration,
    ShiftBy,
    ToCurrent,
    ToDatetime,
    ToEarliest,
    ToLatest,
    ToOffsets,
)
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.tables import delta
from airflow_provider_ckpt.tables.delta import DeltaLog
from airflow_provider_ckpt.tables.delta_commit import DataFile, DeltaCommit
from tests.delta_times import during, spread

#: Version n was committed in minute n, epoch milliseconds.
FIRST_MS, MINUTE_MS = 1_700_000_000_000, 60_000
VERSIONS = 5


@pytest.fixture
def table(tmp_path) -> Path:
    """Versions 0 to 4, of which the log has lost version 0."""
    for number in range(VERSIONS):
        write_deltalake(str(tmp_path), pyarrow.table({"n": [number]}), mode="append")
    DeltaTable(str(tmp_path)).create_checkpoint()
    for number in range(VERSIONS):
        commit = tmp_path / "_delta_log" / f"{number:020}.json"
        lines = [json.loads(line) for line in commit.read_text().splitlines()]
        for line in lines:
            if "commitInfo" in line:
                line["commitInfo"]["timestamp"] = FIRST_MS + number * MINUTE_MS
        commit.write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "_delta_log" / f"{0:020}.json").unlink()
    return tmp_path


def at(table: Path, version: int, **fields: object) -> SourceOffset:
    offset = {
        "sourceVersion": 1,
        "reservoirId": str(DeltaTable(str(table)).metadata().id),
        "reservoirVersion": version,
        "index": -1,
        "isStartingVersion": False,
    }
    return SourceOffset(json.dumps({**offset, **fields}, separators=(",", ":")))


@pytest.mark.parametrize(
    ("goal", "version"),
    [
        (ToVersion(0), 1),
        (ToVersion(2), 3),
        (ToVersion(4), 5),
        (ToEarliest(), 1),
        (ToLatest(), 5),
        (ToDatetime(FIRST_MS), 1),
        (ToDatetime(FIRST_MS + 2 * MINUTE_MS), 2),
        (ToDatetime(FIRST_MS + 2 * MINUTE_MS + 1), 3),
        (ToDatetime(FIRST_MS + 9 * MINUTE_MS), 5),
        (ByDuration(0), 5),
    ],
)
def test_the_next_batch_begins_with_a_version(table, goal, version):
    move = DeltaAim(Store.open(str(table)), goal).move("0", at(table, 2), None)
    assert move.new == at(table, version) and move.kind == "delta" and move.warnings == ()
    assert move.notes == (f"The next batch begins with version {version}; the newest version of the table is 4.",)


def test_a_later_version_with_an_earlier_time_does_not_hide_those_before_it(table):
    """A copy of a table, or a clock that was set back; Delta moves such a time on."""
    last = table / "_delta_log" / f"{4:020}.json"
    os.utime(last, (FIRST_MS / 1_000 - 60, FIRST_MS / 1_000 - 60))
    goal = ToDatetime(FIRST_MS + 2 * MINUTE_MS)
    assert DeltaAim(Store.open(str(table)), goal).move("0", at(table, 5), None).new == at(table, 2)


def test_such_a_version_is_one_millisecond_later_than_the_one_before(table):
    old_s = (FIRST_MS + MINUTE_MS) / 1_000
    os.utime(table / "_delta_log" / f"{3:020}.json", (old_s, old_s))
    for goal_ms, version in ((2 * MINUTE_MS, 2), (2 * MINUTE_MS + 1, 3), (2 * MINUTE_MS + 2, 4)):
        move = DeltaAim(Store.open(str(table)), ToDatetime(FIRST_MS + goal_ms)).move("0", at(table, 2), None)
        assert move.new == at(table, version)


def test_to_current_stays(table):
    assert DeltaAim(Store.open(str(table)), ToCurrent()).move("0", at(table, 3, index=2), None).is_still


def test_a_query_that_reads_its_first_snapshot_is_warned(table):
    move = DeltaAim(Store.open(str(table)), ToVersion(2)).move("0", at(table, 3, index=7, isStartingVersion=True), None)
    assert "it reads no more of that" in move.warnings[0]
    effects = reset_effects(SinkMarker("kafka"), 4, 4, again=move.again, left_out=move.left_out)
    (skipped,) = (item for item in effects if item.effect == "skipped")
    assert "it never gets the rows of at most the rest of the first snapshot of source 0" in skipped.reason


REFUSED = {
    "a version that the log has lost": (ToCurrent(), {"version": 0}, "with version 0, but the log .* versions 1 to 4"),
    "a version that is to come": (ToVersion(5), {"version": 2}, "would begin with version 6"),
    "another table": (ToEarliest(), {"version": 2, "reservoirId": "x"}, "reads the table with the id x"),
    "offsets": (ToOffsets(3), {"version": 2}, "no offsets that could be counted, so it does not go to offset 3"),
    "a number of offsets": (ShiftBy(3), {"version": 2}, "no offsets that could be counted"),
}


@pytest.mark.parametrize(("goal", "fields", "problem"), REFUSED.values(), ids=REFUSED)
def test_where_there_is_nothing_to_read_it_does_not_go(table, goal, fields, problem):
    with pytest.raises(PlanError, match=problem):
        DeltaAim(Store.open(str(table)), goal).move("0", at(table, **fields), None)


# --- one version that the query stops at -------------------------------------------------------------------------------


@pytest.fixture
def stopped(tmp_path) -> Path:
    """Rows in 0 and 1; OPTIMIZE is 2; a delete is 3, in which a file is written anew; rows in 4; properties are 5."""
    for rows in ([1, 2, 3], [4]):
        write_deltalake(str(tmp_path), pyarrow.table({"n": rows}), mode="append")
    table = DeltaTable(str(tmp_path))
    table.optimize.compact()
    table.delete("n > 2")
    write_deltalake(str(tmp_path), pyarrow.table({"n": [5]}), mode="append")
    DeltaTable(str(tmp_path)).alter.set_table_properties({"delta.appendOnly": "false"})
    return tmp_path


@pytest.mark.parametrize("begins", [2, 3], ids=["a version without rows comes before", "right before"])
def test_one_version_is_skipped_and_named(stopped, begins):
    move = DeltaAim(Store.open(str(stopped)), SkipVersion(3)).move("0", at(stopped, begins), None)
    assert move.new == at(stopped, 4) and move.again == "" and move.warnings == ()
    assert move.left_out.startswith("version 3 (DELETE of 2")
    assert move.left_out.endswith(
        "which has no new rows: it takes the rows of 1 files away, and keeps the 2 rows that stay in 1 data files, of "
        "source 0"
    )
    assert move.notes == (
        f"Skipped is {move.counted.left_out}.",
        "The next batch begins with version 4; the newest version of the table is 5.",
    )


def test_the_rest_of_a_version_is_skipped(stopped):
    move = DeltaAim(Store.open(str(stopped)), SkipVersion(1)).move("0", at(stopped, 1, index=0), None)
    assert move.new == at(stopped, 2) and "which adds 0 more data files" in move.left_out


def test_a_version_that_changes_the_table_warns_of_a_tracked_schema(stopped):
    move = DeltaAim(Store.open(str(stopped)), SkipVersion(5)).move("0", at(stopped, 5), None)
    assert "schemaTrackingLocation must not skip it" in move.warnings[0]


NOT_SKIPPED = {
    "rows come before": (3, {"version": 1}, "so that version 1 would be skipped, too"),
    "a stop comes before": (4, {"version": 3}, "so that version 3 would be skipped, too"),
    "it was read": (3, {"version": 4}, "the query has read version 3: its next batch begins with version 4"),
    "it is to come": (
        6,
        {"version": 6},
        "would begin with version 7, but the log of the table has the versions 0 to 5",
    ),
    "the first snapshot": (3, {"version": 3, "isStartingVersion": True}, "would skip the rest of that, too"),
}


@pytest.mark.parametrize(("version", "fields", "problem"), NOT_SKIPPED.values(), ids=NOT_SKIPPED)
def test_no_other_version_is_skipped_with_it(stopped, version, fields, problem):
    with pytest.raises(PlanError, match=problem):
        DeltaAim(Store.open(str(stopped)), SkipVersion(version)).move("0", at(stopped, **fields), None)


def test_a_version_before_it_that_is_missing_is_refused(stopped):
    DeltaTable(str(stopped)).create_checkpoint()
    for version in range(3):
        (stopped / "_delta_log" / f"{version:020}.json").unlink()
    with pytest.raises(PlanError, match="version 2, which is to be read before, is missing"):
        DeltaAim(Store.open(str(stopped)), SkipVersion(3)).move("0", at(stopped, 2), None)


def test_an_offset_of_another_source_is_refused(table):
    with pytest.raises(PlanError, match="source 0 is not a Delta source"):
        DeltaAim(Store.open(str(table)), ToEarliest()).move("0", SourceOffset('{"t":{"0":1}}'), None)


FILES = (DataFile("a", 5, 3), DataFile("b", 5, 4))
COMMITS = {
    "a delete has no row that is new": (
        DeltaCommit("DELETE", None, FILES[:1], {"x": None}),
        "has no new rows: it takes the rows of 1 files away, and keeps the 3 rows that stay in 1 data files",
    ),
    "a delete of whole files": (
        DeltaCommit("DELETE", None, (), {"x": None, "y": None}),
        "has no new rows: it takes the rows of 2 files away",
    ),
    "an update has": (
        DeltaCommit("UPDATE", None, FILES, {"x": None}),
        "adds 2 data files with 7 rows and takes the rows of 1 files away",
    ),
    "rows that nobody has counted": (DeltaCommit("WRITE", None, (DataFile("a", 5),), {}), "adds 1 data files"),
}


@pytest.mark.parametrize(("commit", "does"), COMMITS.values(), ids=COMMITS)
def test_what_is_skipped_is_told_by_what_wrote_it(commit, does):
    assert commit_text(4, commit) == f"version 4 ({commit.operation}), which {does}"


def at_version(table: Path, version: int) -> SourceOffset:
    return SourceOffset(DeltaOffset(str(DeltaTable(str(table)).metadata().id), version).json)


@pytest.fixture(params=["to a version", "to a time"])
def restored(tmp_path, request) -> Path:
    """Rows in 0 to 4; 5 is a RESTORE to 2; rows in 6."""
    for number in range(5):
        write_deltalake(str(tmp_path), pyarrow.table({"n": [number]}), mode="append")
    spread(tmp_path)
    DeltaTable(str(tmp_path)).restore(2 if request.param == "to a version" else during(2))
    write_deltalake(str(tmp_path), pyarrow.table({"n": [6]}), mode="append")
    return tmp_path


PASSED = {
    "past what was reverted": (ToVersion(5), 3, 6, "", 0),
    "the RESTORE alone": (SkipVersion(5), 3, 6, "", 0),
    "to the end": (ToLatest(), 3, 7, "version 6", 0),
    "past what stays, too": (ToVersion(5), 2, 6, "version 2", 0),
    "past what was read as well": (ToVersion(5), 5, 6, "", 1),
}


@pytest.mark.parametrize(("goal", "begins", "version", "left_out", "warnings"), PASSED.values(), ids=PASSED)
def test_what_a_restore_reverted_is_not_left_out(restored, goal, begins, version, left_out, warnings):
    move = DeltaAim(Store.open(str(restored)), goal).move("0", at_version(restored, begins), None)
    assert move.new == at_version(restored, version)
    assert move.left_out == (left_out and f"{left_out} of source 0") and move.again == ""
    assert len(move.warnings) == warnings
    assert all(
        "has read versions 3 to 4, which the RESTORE in version 5 has reverted" in text for text in move.warnings
    )


def test_a_move_before_a_restore_warns_of_what_it_reverted(restored):
    move = DeltaAim(Store.open(str(restored)), ToVersion(2)).move("0", at_version(restored, 7), None)
    (warning,) = move.warnings
    assert warning.startswith("The next batches would read versions 3 to 4, reverted by the RESTORE in version 5")
    assert warning.endswith("To pass over both, move it past version 5.")


def test_nobody_is_sent_through_the_versions_that_were_reverted(restored):
    aim = DeltaAim(Store.open(str(restored)), SkipVersion(4))
    with pytest.raises(PlanError) as refused:
        aim.move("0", at_version(restored, 3), None)
    assert "--to-version 5" in refused.value.hint and "skipChangeCommits" not in refused.value.hint


def test_a_table_that_was_never_restored_says_nothing(tmp_path):
    write_deltalake(str(tmp_path), pyarrow.table({"n": [1]}))
    assert read_passed(DeltaLog(Store.open(str(tmp_path))), DeltaOffset("t", 0), 1) == Passed()


def test_the_rest_of_a_first_snapshot_is_not_known_to_be_reverted(restored):
    passed = read_passed(DeltaLog(Store.open(str(restored))), DeltaOffset("t", 3, 0, True), 6)
    assert passed.counted is None and "Version 5 is a RESTORE" in passed.warnings[0]


def test_a_log_that_is_too_long_to_be_read_says_so(restored, monkeypatch):
    monkeypatch.setattr(delta, "DELTA_LOG_BYTES", 10)
    passed = read_passed(DeltaLog(Store.open(str(restored))), DeltaOffset("t", 3), 6)
    assert passed.counted is None and "too long to be read for RESTOREs" in passed.warnings[0]
