"""What a query reads next, and how it gets to the end: in values, and in sentences that can be read alone."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.documents.positions import NextBatchFields
from airflow_provider_ckpt.query.source_options import Limits
from airflow_provider_ckpt.query.trigger import AVAILABLE_NOW, ONCE, REAL_TIME
from airflow_provider_ckpt.sources.kafka.coming import Coming, coming_batch
from airflow_provider_ckpt.sources.kafka.extent import Extent
from airflow_provider_ckpt.sources.kafka.next_batch import NextBatch, Outlook
from tests.json_documents import problems

T0, T1 = ("t", 0), ("t", 1)
THERE = Extent({"t": "id"}, {T0: 0}, {T0: 30})


@pytest.mark.parametrize(
    ("planned", "limits", "reads", "outlook"),
    [
        (None, Limits(), 20, Outlook(1, 1)),
        (None, Limits(7), 7, Outlook(3, 3)),
        ({T0: 12}, Limits(9), 2, Outlook(3, 3)),
        ({T0: 30}, Limits(9), 20, Outlook(1, 1)),
        (None, Limits(15, 10, trigger=AVAILABLE_NOW), 15, Outlook(None, None, 5)),
        ({T0: 12}, Limits(15, 10, trigger=AVAILABLE_NOW), 2, Outlook(None, None, 3)),
        ({T0: 26}, Limits(15, 10, trigger=AVAILABLE_NOW), 16, Outlook(2, 2)),
        (None, Limits(9, trigger=ONCE), 20, Outlook(1, 1)),
        ({T0: 12}, Limits(trigger=ONCE), 2, Outlook(None, None, 18)),
        ({T0: 12}, Limits(9, trigger=ONCE), 2, Outlook(None, None, 18)),
        ({T0: 30}, Limits(9, trigger=ONCE), 20, Outlook(1, 1)),
    ],
)
def test_a_planned_batch_runs_first_and_the_limits_count_after_it(planned, limits, reads, outlook):
    coming = coming_batch({T0: 10}, planned, THERE, limits)
    assert (coming.batch.offsets, coming.outlook, coming.planned) == (reads, outlook, planned is not None)
    assert list(problems(coming.to_dict(), NextBatchFields)) == []


@pytest.mark.parametrize("planned", [None, {T0: 12}])
def test_real_time_mode_drops_a_planned_batch_and_has_no_end(planned):
    coming = coming_batch({T0: 10}, planned, THERE, Limits(trigger=REAL_TIME))
    assert (coming.batch, coming.outlook) == (NextBatch({T0: 10}, {T0: 30}), Outlook(1, None))
    assert coming.is_open and not coming.planned
    assert coming.text == "at least 20 offsets; at least 1 to the end"
    assert list(problems(coming.to_dict(), NextBatchFields)) == []


@pytest.mark.parametrize(
    ("limits", "planned", "text", "notes"),
    [
        (Limits(), None, "20 offsets; 1 to the end", ()),
        (Limits(7), {T0: 11}, "1 offset, planned; 4 to the end", ("The planned batch runs first",)),
        (Limits(7, trigger=ONCE), None, "20 offsets; 1 to the end", ("The trigger once runs one batch and ignores",)),
        (Limits(0), None, "0 offsets; leaves at most 20 offsets unread", ("the query never reads anything",)),
        (
            Limits(19, 5, trigger=AVAILABLE_NOW),
            None,
            "19 offsets; leaves at most 1 offset unread",
            ("the ends that the topics have when it starts", "needs 5 offsets, or the run ends and leaves fewer"),
        ),
        (Limits(least=5), None, "20 offsets; 1 to the end", ("each later one waits for 5 offsets or 15 min",)),
    ],
)
def test_a_person_is_told_what_the_trigger_and_the_limits_mean(limits, planned, text, notes):
    coming = coming_batch({T0: 10}, planned, THERE, limits)
    assert coming.text == text
    assert len(coming.notes) == len(notes)
    for said, note in zip(coming.notes, notes, strict=True):
        assert note in said and said.endswith(".")


def test_the_ends_of_the_partitions_that_are_read_most_from_are_named():
    starts = {("t", number): 0 for number in range(8)}
    ends = {("t", number): number for number in range(8)}
    coming = Coming(NextBatch(starts, ends), Outlook(1, 1), Limits())
    assert coming.ends_text == "t-7 to 7, t-6 to 6, t-5 to 5, t-4 to 4, t-3 to 3 and 2 partitions more"
    assert Coming(NextBatch(starts, starts), Outlook(0, 0), Limits()).ends_text == "nothing"
