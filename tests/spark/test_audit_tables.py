"""What the statements of the audit say of histories made by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_ckpt.batches.rows import DELETED
from tests.spark.audit_rows import CONFS, NOW_S, Story, at, judged, lost, row

CHANGED = {**CONFS, "spark.sql.shuffle.partitions": "40"}
ODD = {"spark.sql.shuffle.partitions": "'; DROP TABLE {history} --", "": "\\u0000"}
TEN = [row(number, 10 * number) for number in range(5)]

STORIES = {
    # A batch each 10 s; a stall of two minutes before batch 30; other confs from batch 33 on; batches 36 to 38 rolled
    # back and run again; batches 41 and 42 missing; then silence.
    "long": Story(
        [
            *(row(number, 10 * number, watermark=at(10 * number - 600)) for number in range(30)),
            *(row(number, 10 * number + 120, confs=CONFS if number < 33 else CHANGED) for number in range(30, 39)),
            *(row(number, 10 * number + 160, confs=CHANGED, timeline=1) for number in (36, 37, 38, 39, 40, 43)),
        ],
        now_s=780,
        operators=1,
    ),
    "slow batch": Story(
        [*(row(number, 10 * number) for number in range(20)), row(20, 200, committed_at=at(500))], now_s=540
    ),
    "small": Story([row(number, 100 * number, advanced=0 if number % 4 else 3) for number in range(40)], now_s=3_960),
    "empty": Story(
        [row(number, 100 * number, advanced=0 if number % 4 else 300) for number in range(40)], 3_960, operators=1
    ),
    "opaque": Story(
        [row(number, number, advanced=None, start_offset="x", end_offset="x") for number in range(4)], now_s=60
    ),
    "read twice": Story(TEN + TEN, now_s=60),
    "two sources": Story([{**found, "source_id": source} for found in TEN for source in "01"], now_s=60),
    "purged": Story(
        [*map(lost, (3, 4)), *(row(number, number) for number in range(5, 9)), *map(lost, (9, 10)), row(11, 11)],
        now_s=60,
    ),
    # What ran between two batches was dropped, or purged, before it was read: that is no stall.
    "dropped": Story(
        [*(row(number, 10 * number) for number in range(10)), *(row(n, 500 + 10 * n, timeline=1) for n in range(5, 9))],
        now_s=640,
    ),
    "unread": Story(
        [*(row(number, 10 * number) for number in range(10)), *map(lost, (10, 11)), row(12, 400), row(13, 410)],
        now_s=450,
    ),
    # Numbers that are none, that add up to more than there are, and times that nobody has lived through.
    "foreign": Story(
        [
            *(row(number, 10 * number, advanced=2**63 - 1, confs=ODD) for number in range(3)),
            row(3, 30, batch_time=datetime(1, 1, 2, tzinfo=UTC)),
            row(4, 40, batch_time=datetime(9999, 12, 30, tzinfo=UTC)),
            row(2**63 - 1, 50),
            row(2**63 - 1, 55),
        ],
        now_s=60,
        operators=2,
    ),
    "deleted": Story([*(row(number, number) for number in range(4)), lost(4, DELETED), lost(5, DELETED)], now_s=60),
    # A stream that began anew: its timelines begin at 0 again; what it read again is known by the time of the commit.
    "anew": Story(
        [
            *TEN,
            *(row(number, 100 + 10 * number, timeline=1) for number in (3, 4, 5)),
            *TEN[:3],
            *(row(number, 100 + 10 * number) for number in (3, 4, 5, 6)),
        ],
        now_s=180,
    ),
    # A reset between two batches: the entry of batch 2 was read as it had been, or as it became.
    "moved": Story([*TEN[:3], row(3, 30, start_offset="5", end_offset="15")], now_s=60),
    "moved and then read": Story(
        [*TEN[:2], row(2, 20, end_offset="5", advanced=-15), row(3, 30, start_offset="5", end_offset="15")], now_s=60
    ),
    **{
        kind: Story([row(0, 0), row(1, 10), {**row(2, 20), **known}], now_s=60)
        for kind, known in {
            "new query": {"query_id": "other", "timeline": 1},
            "restored": {"timeline": 1},
            "rolled back": {"batch_id": 1, "timeline": 1},
            "other version": {"offset_log_version": 2},
            "repartitioned": {"control": "repartition"},
        }.items()
    },
}


@pytest.fixture(scope="module")
def told(spark):
    """The whole fleet is judged once."""
    return judged(spark.newSession(), STORIES)


def test_what_happened_is_told(told):
    assert {(event["kind"], event["what"]) for event in told["long"]["events"]} == {
        ("stall", "Nothing was committed for 130 s after batch 29; usual is 10.0 s."),
        ("stall", "Nothing was committed since batch 43, for 188 s; usual is 10.0 s."),
        ("conf", "spark.sql.shuffle.partitions changed from 20 to 40 with batch 33."),
        (
            "rolled back",
            "The log went back from batch 38; batch 36 was the first to run again, 20 s after the last commit that was read.",
        ),
        ("gap", "Batches 41 to 42 are missing: not in the log."),
    }


def test_when_from_what_to_what(told):
    (change,) = told["long"]["conf_changes"]
    assert (change["key"], change["from"], change["to"]) == ("spark.sql.shuffle.partitions", "20", "40")
    assert change["batch_id"] == 33
    assert change["at"].astimezone(UTC) == at(33 * 10 + 120) + timedelta(seconds=NOW_S - 780)


def test_throughput_and_delay_by_window(told):
    first = min(told["long"]["throughput"], key=lambda found: found["window_start"])
    assert (first["batches"], first["advanced"], first["unit"]) == (6, 60, "records")
    assert first["per_second"] == pytest.approx(1.0)
    assert sum(found["batches"] for found in told["long"]["throughput"]) == 45
    assert {found["p50_ms"] for found in told["long"]["delay"]} == {2000}


def test_the_lag_of_the_watermark(told):
    assert {found["max_ms"] for found in told["long"]["watermark_lag"]} == {600_000}
    assert told["small"]["watermark_lag"] == []


def test_what_a_day_costs_and_what_would_change_it(told):
    """Two logs and 40 state partitions: 42 files a batch, 8,640 batches a day."""
    (cost,) = told["long"]["cost"]
    assert cost["batches_a_day"] == pytest.approx(8_640)
    assert cost["requests_a_day"] == pytest.approx(8_640 * 42 * 8)
    assert cost["usd_a_day"] == pytest.approx(8_640 * 42 * 21.6e-6)
    assert cost["conf"] == 'trigger(processingTime="1 minute")'
    assert cost["saves_usd_a_day"] == pytest.approx(cost["usd_a_day"] * 5 / 6)


def test_empty_batches_of_a_stateful_query_are_those_of_one_conf(told):
    (cost,) = told["empty"]["cost"]
    assert cost["conf"] == "spark.sql.streaming.noDataMicroBatches.enabled = false"
    assert cost["saves_usd_a_day"] == pytest.approx(cost["usd_a_day"] * 0.75)


def test_a_row_for_each_query(told):
    (query,) = told["long"]["queries"]
    assert (query["batches"], query["timelines"], query["usual_ms"], query["p95_ms"]) == (45, 2, 10_000, 2_000)
    assert query["silent_ms"] == 188_000


def test_a_batch_that_took_long_is_told_from_a_wait_between_batches(told):
    assert [event["what"] for event in told["slow batch"]["events"]] == [
        "The batch after 19 took 308 s; usual is 10.0 s."
    ]


def test_empty_and_tiny_batches(told):
    (found,) = told["small"]["empty_batches"]
    assert (found["batches"], found["empty"], found["tiny"], found["empty_share"]) == (40, 30, 10, 0.75)


def test_a_source_that_cannot_be_counted_is_empty_where_its_offset_stays(told):
    (found,) = told["opaque"]["empty_batches"]
    assert found["empty"] == 4


def test_rows_that_were_read_twice_count_once(told):
    assert sum(window["batches"] for window in told["read twice"]["throughput"]) == 5
    assert told["read twice"]["events"] == []


def test_a_stream_that_began_anew_reads_on(told):
    assert [query["batches"] for query in told["anew"]["queries"]] == [9]
    assert [event["kind"] for event in told["anew"]["events"]] == ["rolled back"]


def test_what_no_query_writes_is_judged_as_far_as_it_goes(told):
    """One checkpoint of a fleet must not end the audit of all others, nor stretch its charts."""
    (query,) = told["foreign"]["queries"]
    assert (query["batches"], query["advanced"]) == (7, None)
    assert {at(0).year} == {window["window_start"].year for window in told["foreign"]["throughput"]}
    assert [change["to"] for change in told["foreign"]["conf_changes"] if change["key"] == ""] == [None]


def test_two_sources_are_two_rows_and_one_batch(told):
    assert [query["batches"] for query in told["two sources"]["queries"]] == [5]
    assert {window["source_id"] for window in told["two sources"]["throughput"]} == {"0", "1"}


def test_purged_batches_are_a_gap_and_nothing_else(told):
    told["purged"]["gaps"].sort(key=lambda gap: gap["first_batch"])
    assert [(gap["first_batch"], gap["last_batch"], gap["reason"]) for gap in told["purged"]["gaps"]] == [
        (3, 4, "purged before they were read"),
        (9, 10, "purged before they were read"),
    ]
    assert {event["kind"] for event in told["purged"]["events"]} == {"gap"}
    moved = timedelta(seconds=NOW_S - 60)  # a gap is told when the batch after it was planned
    assert [gap["at"].astimezone(UTC) for gap in told["purged"]["gaps"]] == [at(5) + moved, at(11) + moved]


def test_batches_that_went_with_their_checkpoint_are_a_gap(told):
    assert [event["what"] for event in told["deleted"]["events"]] == [
        "Batches 4 to 5 are missing: deleted with the checkpoint before they were read."
    ]


@pytest.mark.parametrize(
    ("story", "event"),
    [
        (
            "dropped",
            "The log went back from batch 9; batch 5 was the first to run again, 460 s after the last commit that "
            "was read.",
        ),
        ("unread", "Batches 10 to 11 are missing: purged before they were read."),
    ],
)
def test_nobody_knows_how_long_nothing_was_committed_where_batches_are_missing(told, story, event):
    assert [found["what"] for found in told[story]["events"]] == [event]
    assert told[story]["stalls"] == []


@pytest.mark.parametrize(
    ("story", "event"),
    [
        ("moved", "The position of source 0 was moved before batch 3, from 30 to 5."),
        (
            "moved and then read",
            "The position of source 0 goes back with the entry of batch 2, to 5: a reset, or input that was made anew.",
        ),
    ],
)
def test_a_reset_is_told_and_counts_nothing(told, story, event):
    assert [(found["kind"], found["what"]) for found in told[story]["events"]] == [("moved", event)]
    assert sum(window["advanced"] or 0 for window in told[story]["throughput"]) == (40 if story == "moved" else 30)


@pytest.mark.parametrize("kind", ["new query", "restored", "rolled back", "other version", "repartitioned"])
def test_what_else_may_happen_to_a_log(told, kind):
    assert [event["kind"] for event in told[kind]["events"]] == [kind]
