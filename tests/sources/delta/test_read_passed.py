"""Moves of a Delta source past a RESTORE and back before it, by tables that deltalake has written and restored."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pytest
from deltalake import DeltaTable, write_deltalake

from airflow_provider_ckpt.codec.offsets.delta import DeltaOffset
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.sources.delta.read_passed import Passed, read_passed
from airflow_provider_ckpt.sources.delta.resolve_goal import DeltaAim
from airflow_provider_ckpt.sources.goal import SkipVersion, ToVersion
from airflow_provider_ckpt.sources.kafka.strategies import ToLatest
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.tables import delta
from airflow_provider_ckpt.tables.delta import DeltaLog
from tests.delta_times import during, spread


def at(table: Path, version: int) -> SourceOffset:
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
    move = DeltaAim(Store.open(str(restored)), goal).move("0", at(restored, begins), None)
    assert move.new == at(restored, version)
    assert move.left_out == (left_out and f"{left_out} of source 0") and move.again == ""
    assert len(move.warnings) == warnings
    assert all(
        "has read versions 3 to 4, which the RESTORE in version 5 has reverted" in text for text in move.warnings
    )


def test_a_move_before_a_restore_warns_of_what_it_reverted(restored):
    move = DeltaAim(Store.open(str(restored)), ToVersion(2)).move("0", at(restored, 7), None)
    (warning,) = move.warnings
    assert warning.startswith("The next batches would read versions 3 to 4, reverted by the RESTORE in version 5")
    assert warning.endswith("To pass over both, move it past version 5.")


def test_nobody_is_sent_through_the_versions_that_were_reverted(restored):
    aim = DeltaAim(Store.open(str(restored)), SkipVersion(4))
    with pytest.raises(PlanError) as refused:
        aim.move("0", at(restored, 3), None)
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
