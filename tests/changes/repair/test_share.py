"""What is proven of the files of a batch."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.changes.repair.batch_times import BatchTimes, Window
from airflow_provider_ckpt.changes.repair.data_file import DataFile
from airflow_provider_ckpt.changes.repair.decision import Decisions
from airflow_provider_ckpt.changes.repair.share import (
    Doubt,
    Evidence,
    Share,
    orphans_of,
    require_one_taker,
    share_of,
    shares_by_effect,
)
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.untrusted.spans import Span

FOUR = Span(4, 4)
TIMES = BatchTimes({3: Window(30, 39), 4: Window(40, 49), 5: Window(49, None)}, frozenset({2}))


def file(task: int, at_ms: int, directory: str = "") -> DataFile:
    return DataFile(f"{directory}{'/' if directory else ''}part-{task}-at-{at_ms}", 1, at_ms, task, 0)


@pytest.mark.parametrize(
    ("files", "effect", "taken"),
    [
        ([file(0, 41)], "exact", 1),
        ([file(0, 41), file(1, 42), file(2, 43)], "exact", 3),
        ([file(0, 42), file(1, 42)], "unknown", 2),
        ([file(0, 42), file(1, 41)], "unknown", 2),
        ([file(1, 41)], "unknown", 1),
        ([file(0, 40), file(1, 41), file(0, 43), file(1, 44)], "unknown", 2),
        ([file(0, 40), file(0, 43)], "unknown", 1),
        ([file(0, 40), file(2, 41), file(0, 43)], "unknown", 2),
        ([file(0, 40), file(0, 41), file(1, 42), file(1, 43)], "unknown", 2),
        ([file(0, 39), file(0, 30)], "skipped", 0),
        ([], "skipped", 0),
    ],
)
def test_the_file_of_task_0_and_what_was_written_later_are_proven(files, effect, taken):
    share = share_of(FOUR, Evidence(TIMES, tuple(files)))
    assert isinstance(share, Share)
    assert (share.effect, len(share.files)) == (effect, taken)


MINUTE = 60_000


@pytest.mark.parametrize(
    ("orphans", "effect"),
    [
        ([], "exact"),
        ([file(0, 12 * MINUTE - 1)], "unknown"),  # of an attempt of the batch before
        ([file(0, 12 * MINUTE + 5)], "unknown"),  # cut off, of an attempt of this batch
        ([file(0, 2 * MINUTE)], "unknown"),
        ([file(0, 2 * MINUTE - 1)], "exact"),  # its executors have ended long before
        ([file(0, 13 * MINUTE + 1)], "exact"),
    ],
)
def test_where_an_attempt_has_left_a_file_one_of_its_tasks_may_have_gone_on(orphans, effect):
    times = BatchTimes({4: Window(12 * MINUTE, 13 * MINUTE)})
    files = (file(0, 12 * MINUTE + 10), file(1, 12 * MINUTE + 20))
    share = share_of(FOUR, Evidence(times, files, orphans=tuple(orphans)))
    assert isinstance(share, Share)
    assert (share.effect, len(share.files)) == (effect, 2)
    assert ("outlived its driver" in share.reason) == (effect == "unknown")


def test_files_of_no_batch():
    cut_off, of_four = file(2, 44), (file(0, 41), file(0, 42), file(1, 43))
    unnamed = (file(0, 29), file(0, 35), *of_four, cut_off, file(0, 60))
    free = tuple(item for item in unnamed if item is not cut_off)
    assert orphans_of(unnamed, free, TIMES, [4]) == (file(0, 35), file(0, 41), cut_off, file(0, 60))
    assert orphans_of(unnamed, free, BatchTimes(), []) == unnamed


def test_a_time_of_two_batches_proves_nothing():
    doubt = share_of(FOUR, Evidence(TIMES, (file(0, 49),)))
    assert isinstance(doubt, Doubt)
    assert "the batches 4 and 5 may have run" in doubt.why


@pytest.mark.parametrize("decisions", [Decisions({4: ()}), Decisions({4: ("part-0-at-41",)})])
def test_what_is_proven_stays_exact_when_it_is_decided(decisions):
    share = share_of(FOUR, Evidence(TIMES, (file(0, 41),), decisions=decisions))
    assert isinstance(share, Share)
    assert share.effect == "exact"


def test_what_was_given_to_another_batch_is_not_this_one_s():
    evidence = Evidence(TIMES, (file(0, 41),), decisions=Decisions({3: ("part-0-at-41",)}))
    share = share_of(FOUR, evidence)
    assert isinstance(share, Share)
    assert share.files == ()
    with pytest.raises(PlanError, match="cannot be adopted by batch 4"):
        share_of(FOUR, Evidence(TIMES, (), decisions=Decisions({4: ("x",)})))


def test_a_repartition_gets_none():
    share = share_of(Span(2, 2), Evidence(TIMES, (file(0, 41),)))
    assert isinstance(share, Share)
    assert (share.effect, share.files) == ("exact", ())


def test_batches_before_the_first_known_one():
    evidence = Evidence(TIMES, (file(0, 1), file(0, 29), file(0, 41)))
    doubt = share_of(Span(0, 1), evidence)
    assert isinstance(doubt, Doubt)
    assert (doubt.batch_id, len(doubt.candidates)) == (1, 2)
    share = share_of(Span(0, 1), Evidence(TIMES, evidence.free, decisions=Decisions({1: ()})))
    assert isinstance(share, Share)
    assert (share.effect, len(share.files)) == ("unknown", 2)


def test_all_that_is_left_goes_to_one_batch_at_most():
    evidence = Evidence(BatchTimes(doubt="why"), (), decisions=Decisions({3: (), 4: ()}))
    require_one_taker([FOUR], evidence)
    with pytest.raises(PlanError, match="the batches 3 and 4 cannot both"):
        require_one_taker([Span(3, 3), FOUR], evidence)


def test_many_reasons_are_cut_short():
    shares = [Share(Span(batch, batch), (), "skipped", f"r{batch}") for batch in range(5)]
    assert shares_by_effect(shares) == {"skipped": "r0; r1; r2; and 2 more batches likewise"}
