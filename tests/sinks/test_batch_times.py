"""The times of files in a sink's log tell the sink of another query, and are never taken for more than they say."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec.offset_log import OffsetSeq, OffsetSeqMetadata
from airflow_provider_ckpt.codec.source_log import SinkFileStatus
from airflow_provider_ckpt.sinks.batch_times import Fit, judge, ran
from airflow_provider_ckpt.storage.stored_object import StoredObject

#: Noon of 2026-01-01. The query plans a batch every hour, and each takes a minute.
NOON, HOUR, MINUTE, SECOND = 1_767_268_800_000, 3_600_000, 60_000, 1_000
BATCHES = range(4)


def planned(batch: int) -> int:
    return NOON + batch * HOUR


def times(*, copied_ms: int = 0, behind_ms: int = 0, one_storage: bool = True, repartition: int | None = None):
    """When the query ran its batches; a checkpoint that was copied has the times of the copy.

    The clock of the storage of the checkpoint may be behind that of the driver and of the sink.
    """
    objects, entries = {}, {}
    for batch in BATCHES:
        at_ms = planned(batch - 1 if batch == repartition else batch)
        entries[f"offsets/{batch}"] = OffsetSeq(1, OffsetSeqMetadata(batch_timestamp_ms=at_ms), ())
        for name, written_ms in ((f"offsets/{batch}", at_ms + 40), (f"commits/{batch}", at_ms + MINUTE)):
            objects[name] = StoredObject(name, 1, copied_ms or written_ms - behind_ms, "")
    view = CheckpointView("/c", NOON, objects, entries, {}, complete=False)
    return ran(view, entries, one_storage=one_storage)


def file(at_ms: int) -> SinkFileStatus:
    return SinkFileStatus("file:///out/part-0.parquet", 1, False, at_ms, 1, 1, "add")


def output(after_ms: int, batches=BATCHES):
    """What a sink got so long after the query planned each batch."""
    return {batch: [file(planned(batch) + after_ms)] for batch in batches}


@pytest.mark.parametrize("after_ms", [-SECOND, 0, 30 * SECOND, MINUTE, MINUTE + SECOND])
def test_a_file_that_was_written_while_its_batch_ran_fits(after_ms):
    """The times of a storage are exact to a second."""
    assert judge(times(), output(after_ms)) == Fit()


def test_the_output_of_a_query_that_runs_five_minutes_later_is_that_of_another():
    found = judge(times(), output(5 * MINUTE))
    assert found.is_proof
    assert found.misfit.reason == (
        "has the file part-0.parquet of its batch 3, written at 2026-01-01T15:05:00.000Z, but the query committed it at "
        "2026-01-01T15:01:00.000Z: it is the sink of another query"
    )


def test_the_output_of_one_that_ran_earlier_is_in_doubt():
    """A query that was moved back by hand runs batches again which its own sink skips: no proof, and nothing exact."""
    found = judge(times(), output(-5 * MINUTE))
    assert not found.is_proof
    assert found.misfit.reason.endswith(
        "written at 2026-01-01T14:55:00.000Z, but the query planned it at 2026-01-01T15:00:00.000Z"
    )
    assert judge(times(), output(-5 * MINUTE), rerun_up_to=3) == Fit(), "it was moved back with ckpt"


def test_one_batch_that_fits_makes_a_proof_a_doubt():
    """A backup may be older than batches that ran again since."""
    found = judge(times(), {**output(0, range(2)), **output(5 * MINUTE, range(2, 4))})
    assert found.misfit and not found.is_proof


@pytest.mark.parametrize("after_ms", [-50 * SECOND, 2 * MINUTE - SECOND])
def test_clocks_of_two_storages_may_be_a_minute_apart(after_ms):
    assert judge(times(one_storage=False), output(after_ms)) == Fit()
    assert judge(times(), output(after_ms)) != Fit()


@pytest.mark.parametrize("behind_ms", [SECOND, 2 * SECOND, 5 * SECOND, 59 * SECOND])
def test_offset_entries_older_than_their_plans_show_that_clocks_are_apart(behind_ms):
    assert judge(times(behind_ms=behind_ms), output(MINUTE)) == Fit()


def test_a_checkpoint_that_was_copied_has_no_times_of_commits():
    """The time of the next batch is left, and the last batch has no end."""
    copied = times(copied_ms=NOON + 90 * HOUR)
    assert judge(copied, output(30 * MINUTE)) == judge(copied, output(-50 * SECOND)) == Fit()
    assert judge(copied, output(90 * MINUTE, range(3))).is_proof


def test_a_commit_that_is_older_than_its_batch_has_a_time_that_somebody_set():
    assert judge(times(copied_ms=NOON - 90 * HOUR), output(30 * MINUTE)) == Fit()


def test_the_batch_of_a_repartition_has_the_time_of_the_one_before_it():
    copied = times(copied_ms=NOON + 90 * HOUR, repartition=1)
    assert judge(copied, output(5 * MINUTE, [0])) == Fit()


@pytest.mark.parametrize("files", [{}, {3: []}, {3: [file(1)]}, {9: [file(NOON)]}], ids=str)
def test_what_has_no_time_says_nothing(files):
    """Batches without rows, files of a test, batches whose plans are purged."""
    assert judge(times(), files) == Fit()


def test_of_a_compacted_entry_the_newest_file_is_known_to_be_of_no_later_batch():
    def newest(at_ms: int) -> Fit:
        return judge(times(), {}, (3, file(at_ms)))

    assert newest(planned(3)) == newest(planned(1)) == Fit(), "the batches after it had no rows"
    assert newest(planned(0) - HOUR) == Fit(), "of a batch whose plan is purged"
    assert newest(planned(3) + 5 * MINUTE).is_proof
    between = newest(planned(3) - 5 * MINUTE)
    assert not between.is_proof and between.misfit.reason.endswith("but the query ran no batch then")
