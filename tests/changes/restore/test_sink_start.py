"""With which entries the log of a fork's file sink begins."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.changes.restore.sink_start import entries_before, interval_warning


@pytest.mark.parametrize(
    ("batch_id", "names"),
    [
        (0, "0"),
        (4, "0 1 2 3 4"),
        (8, "0 1 2 3 4 5 6 7 8"),
        (9, "9.compact"),
        (12, "9.compact 10 11 12"),
        (1_000_000, "999999.compact 1000000"),
    ],
)
def test_they_are_what_spark_reads_before_the_next_batch(batch_id, names):
    entries = entries_before(batch_id)
    assert [entry.name.removeprefix("_spark_metadata/") for entry in entries] == names.split()
    assert {(entry.place, entry.data) for entry in entries} == {("sink", "v1")}


@pytest.mark.parametrize(("batch_id", "is_told"), [(0, True), (8, True), (9, False), (12, False)])
def test_a_log_without_a_compaction_is_of_the_default_interval_which_is_said(batch_id, is_told):
    assert any("compact" in entry.name for entry in entries_before(batch_id)) != is_told
    told = interval_warning(batch_id)
    assert (told is not None) == is_told and (told is None or f"compactInterval to {batch_id + 1} or less" in told)
